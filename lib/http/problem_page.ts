// The page to which a problem's `type` leads. Made of this service's own texts alone; it needs no script.

import { ERRORS, type ProblemCode } from "../errors.ts";

/** The page of a code, as HTML; its links are relative to `/problems/`. */
export function problemPage(code: ProblemCode): string {
  const { status, title, meaning, todo } = ERRORS[code];
  const others = (Object.keys(ERRORS) as ProblemCode[]).filter((other) => other !== code);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} – Repo Collections</title>
    <link rel="icon" href="../playground/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="../playground/page.css">
  </head>
  <body>
    <header class="top">
      <a class="brand" href="../"><img src="../playground/icon.svg" alt="" width="24" height="24"> Repo Collections</a>
      <nav aria-label="Documentation">
        <a href="../">Playground</a>
        <a href="../reference">Reference</a>
      </nav>
    </header>
    <main class="narrow">
      <h1>${title}</h1>
      <p>Status ${status}, code <code>${code}</code></p>
      <p>${toHtml(meaning)}</p>
      <h2>What to do</h2>
      <ul>
${todo.map((line) => `        <li>${toHtml(line)}</li>`).join("\n")}
      </ul>
      <h2>Other problems</h2>
      <p>
${others.map((other) => `        <a href="${other}">${other}</a>`).join(",\n")}.
      </p>
    </main>
  </body>
</html>
`;
}

function toHtml(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return escaped.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
