import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseIsoDate } from "../../lib/collections/iso_date.ts";

Deno.test("parseIsoDate() takes dates and date-times, UTC where no zone is given", () => {
  const times: Record<string, string> = {
    "2024-03-01": "2024-03-01T00:00:00.000Z",
    "2024-02-29": "2024-02-29T00:00:00.000Z",
    "0001-01-01": "0001-01-01T00:00:00.000Z",
    "2024-03-01T10:30": "2024-03-01T10:30:00.000Z",
    "2024-03-01T10:30:15": "2024-03-01T10:30:15.000Z",
    "2024-03-01T10:30:15.25Z": "2024-03-01T10:30:15.250Z",
    "2024-03-01T10:30:15,5": "2024-03-01T10:30:15.500Z",
    "2024-03-01t10:30:15z": "2024-03-01T10:30:15.000Z",
    "2024-03-01T10:30:00+02:00": "2024-03-01T08:30:00.000Z",
    "2024-03-01T10:30:00-0530": "2024-03-01T16:00:00.000Z",
    "2024-03-01T10:30:00+02": "2024-03-01T08:30:00.000Z",
    "2024-03-01 10:30:00 +0200": "2024-03-01T08:30:00.000Z",
    "2024-03-01 10:30:00": "2024-03-01T10:30:00.000Z",
  };
  for (const [text, time] of Object.entries(times)) {
    assertEquals(new Date(parseIsoDate(text) ?? NaN).toISOString(), time, text);
  }
});

Deno.test("parseIsoDate() takes nothing else", () => {
  const texts = [
    "",
    "2024",
    "2024-03",
    "20240301",
    "2024-3-1",
    "2024-02-30",
    "2023-02-29",
    "2024-13-01",
    "2024-00-01",
    "2024-01-00",
    "2024-03-01T",
    "2024-03-01T10",
    "2024-03-01T24:00",
    "2024-03-01T10:60",
    "2024-03-01T10:30:60",
    "2024-03-01T10:30:00+24:00",
    "2024-03-01T10:30:00+02:60",
    "2024-03-01Z",
    "2024-03-01 ",
    " 2024-03-01",
    "2024-03-01\n",
    "x2024-03-01",
    "10:30:00",
    `2024-03-01${" ".repeat(100_000)}10:30`,
  ];
  for (const text of texts) assertEquals(parseIsoDate(text), null, text.slice(0, 40));
});

Deno.test("parseIsoDate() gives back what toISOString() wrote", () => {
  const range = { min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true };
  fc.assert(
    fc.property(fc.date(range), (date) => {
      assertEquals(parseIsoDate(date.toISOString()), date.getTime());
    }),
  );
});
