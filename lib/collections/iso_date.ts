// Dates in front matter: ISO 8601 calendar dates, alone or with a time, also with the space before time and zone that
// RFC 3339 (5.6) and YAML 1.1 allow. A day that the calendar does not have is no date.

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:(?:[Tt]| +)(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? *([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/;
const MAX_CHARS = 64;

/** The time that a text means, in ms since the epoch, UTC where it names no zone; null where it is no date. */
export function parseIsoDate(text: string): number | null {
  const match = text.length > MAX_CHARS ? null : DATE_TIME.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  const zoneMs = readZone(match[8] ?? "Z");
  if (zoneMs === null || hour > 23 || minute > 59 || second > 59) return null;
  // Date.UTC() would take the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have falls into another one.
  if (date.getUTCMonth() !== month - 1) return null;
  const fractionMs = Number(`0.${match[7] ?? 0}`) * 1000;
  return date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + fractionMs - zoneMs;
}

/** How far a zone is ahead of UTC, in ms; null for one that cannot be. */
function readZone(zone: string): number | null {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(":", ""));
  if (hours > 23 || minutes > 59) return null;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
