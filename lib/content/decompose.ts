// Takes letters and their marks apart, in linear time.

/**
 * ICU sorts the marks after a letter in quadratic time. Unicode's stream-safe
 * text has at most 30 (UAX #15, 13), and so has all text of real languages.
 */
const LONG_RUN = /(\p{M}{30})\p{M}+/gu;

/** Returns the text in NFD. Omits the marks after the first 30 of a letter. */
export const decompose = (text: string): string =>
  text.replace(LONG_RUN, "$1").normalize("NFD");
