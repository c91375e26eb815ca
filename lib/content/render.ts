// Renders the Markdown and MDX files of a page to JSON that can be cached.
// Relative addresses in the HTML are not resolved yet.

import type { Pace } from "../thread/compute.ts";
import {
  type Batch,
  type FilesInput,
  frontMatterText,
  inBatch,
} from "./derive.ts";
import { derivedText } from "./derived.ts";
import { splitFenced, textOf } from "./file_text.ts";
import { RenderFailure } from "./growth.ts";
import { renderMarkdown } from "./render_markdown.ts";
import { MAX_RENDERED_BYTES } from "./rendered.ts";

/**
 * Returns a `Rendered` as JSON for each file. A file that is not text gives
 * JSON null. A string says why a file cannot be rendered.
 */
export function render(
  { repository, files }: FilesInput,
  pace: Pace,
): Batch<Uint8Array<ArrayBuffer> | string> {
  const encoder = new TextEncoder();
  return inBatch(files, pace, ({ id, bytes }) => {
    const text = textOf(bytes);
    if (text === null) return encoder.encode("null");
    // Fences alone do not make front matter. The text between them has to be a
    // mapping.
    const derived = derivedText(repository, id) ?? frontMatterText(text, id);
    const body = derived === "{}" ? text : splitFenced(text).body;
    if (
      body.length > MAX_RENDERED_BYTES ||
      encoder.encode(body).length > MAX_RENDERED_BYTES
    ) {
      return "Markdown over 1 MiB is not rendered.";
    }
    // Errors in MDX name the line of the file. Blank lines change nothing else.
    const lines = text.slice(0, text.length - body.length)
      .replace(/[^\n]+/g, "");
    try {
      const rendered = renderMarkdown(lines + body, id.endsWith(" mdx"));
      return encoder.encode(JSON.stringify(rendered));
    } catch (error) {
      if (error instanceof RenderFailure) return error.message;
      if (!(error instanceof RangeError)) throw error;
      return "The file is nested too deeply, or its HTML is too large.";
    }
  });
}
