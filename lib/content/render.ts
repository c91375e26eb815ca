// Renders Markdown files of a page to what can be cached: HTML with open addresses, as JSON.

import { type Pace, TimeLimitError } from "../thread/compute.ts";
import { derivedText, frontMatterText } from "./derived.ts";
import { textOf } from "./file_text.ts";
import { bodyOf } from "./front_matter.ts";
import { RenderFailure } from "./growth.ts";
import { renderMarkdown } from "./render_markdown.ts";

const MAX_BYTES = 1 << 20;

export interface RenderOutput {
  /** A `Rendered` as JSON for each file that was done, or why it has none. */
  readonly results: (Uint8Array<ArrayBuffer> | string)[];
  /** Whether the next file takes longer than it may. */
  readonly isSlow: boolean;
}

export interface RenderInput {
  readonly repository: string;
  readonly files: readonly { readonly id: string; readonly bytes: Uint8Array }[];
}

/** Renders files, as many as one turn allows. */
export function render({ repository, files }: RenderInput, pace: Pace): RenderOutput {
  const results: RenderOutput["results"] = [];
  for (const { id, bytes } of files) {
    if (results.length > 0 && pace.isOver()) break;
    try {
      results.push(pace.within(() => renderFile(repository, id, bytes)));
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      return { results, isSlow: true };
    }
  }
  return { results, isSlow: false };
}

function renderFile(
  repository: string,
  id: string,
  bytes: Uint8Array,
): Uint8Array<ArrayBuffer> | string {
  const text = textOf(bytes);
  const encoder = new TextEncoder();
  if (text === null) return encoder.encode("null");
  // Fences do not make front matter: what is between them has to be a mapping.
  const derived = derivedText(repository, id) ?? frontMatterText(text);
  const body = derived === "{}" ? text : bodyOf(text);
  if (encoder.encode(body).length > MAX_BYTES) return "Markdown over 1 MiB is not rendered.";
  try {
    return encoder.encode(JSON.stringify(renderMarkdown(body)));
  } catch (error) {
    if (error instanceof RenderFailure) return error.message;
    if (!(error instanceof RangeError)) throw error;
    return "The file is nested too deeply, or its HTML is too large.";
  }
}
