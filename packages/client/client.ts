export class CollectionsClient {}
