// The page to which a problem's `type` leads. Made of this service's own texts alone; it needs no script.

import { type ProblemCode, PROBLEMS } from "./problem.ts";
import { PROBLEM_TEXTS } from "./problem_texts.ts";

/** The page of a code, as HTML; its links are relative to `/problems/`. */
export function problemPage(code: ProblemCode): string {
  const { status, title } = PROBLEMS[code];
  const { meaning, todo } = PROBLEM_TEXTS[code];
  const others = (Object.keys(PROBLEMS) as ProblemCode[]).filter((other) => other !== code);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} – Repo Collections</title>
    <link rel="icon" href="../assets/current/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="../assets/current/site.css">
  </head>
  <body class="document">
    <header class="bar">
      <a class="brand" href="../"><img src="../assets/current/icon.svg" alt="" width="22" height="22"> Repo Collections</a>
      <nav class="pages" aria-label="Pages of this service">
        <a href="../">Playground</a>
        <a href="../reference">Reference</a>
      </nav>
    </header>
    <main class="text">
      <h1>${title}</h1>
      <p class="soft">Status ${status} · <code>${code}</code></p>
      <p>${toHtml(meaning)}</p>
      <h2>What to do</h2>
      <ul>
${todo.map((line) => `        <li>${toHtml(line)}</li>`).join("\n")}
      </ul>
      <h2>Other problems</h2>
      <ul class="pills">
${others.map((other) => `        <li><a class="pill" href="${other}">${other}</a></li>`).join("\n")}
      </ul>
    </main>
  </body>
</html>
`;
}

function toHtml(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return escaped.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
