// Which items a page has, and which pages there are.

/** A page's place among all; counts are of items left after filters. */
export interface Pagination {
  readonly page: number;
  readonly limit: number;
  readonly totalItems: number;
  readonly totalPages: number;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}

/** Numbers of the pages beside this one; null where there is none. */
export interface PageNumbers {
  readonly first: number;
  readonly previous: number | null;
  readonly next: number | null;
  readonly last: number;
}

/** The slice `[start, end)` of `totalItems` that a page has; empty past the end. */
export function paginate(
  totalItems: number,
  { page, limit }: { page: number; limit: number },
): { start: number; end: number; pagination: Pagination; pages: PageNumbers } {
  const totalPages = Math.ceil(totalItems / limit);
  const hasNext = page < totalPages;
  // Past the end the page before is the last one that has items.
  const hasPrevious = totalItems > 0 && page > 1;
  return {
    start: Math.min((page - 1) * limit, totalItems),
    end: Math.min(page * limit, totalItems),
    pagination: { page, limit, totalItems, totalPages, hasNext, hasPrevious },
    pages: {
      first: 1,
      previous: hasPrevious ? Math.min(page - 1, totalPages) : null,
      next: hasNext ? page + 1 : null,
      last: Math.max(totalPages, 1),
    },
  };
}
