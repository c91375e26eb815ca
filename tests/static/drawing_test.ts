// Drawings that a browser draws soon, and those that are small as files and
// take it hours.

import { assertThrows } from "@std/assert";
import { checkDrawing } from "../../static/assets/drawing.ts";
import { ConvertError } from "../../static/assets/tree.ts";

const svg = (inside: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg">${inside}</svg>`;

/** Nine groups, each of which refers ten times to the one before it. */
function bomb(
  refer: (id: string) => string,
  idOf = (at: number) => `a${at}`,
): string {
  const groups = Array.from(
    { length: 9 },
    (_, at) => `<g id="${idOf(at + 1)}">${refer(idOf(at)).repeat(10)}</g>`,
  );
  return svg(`<path id="${idOf(0)}"/>${groups.join("")}`);
}

Deno.test("checkDrawing() takes drawings as programs write them", () => {
  const drawings = [
    '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd">' +
    svg(
      "<!-- <use> --><style><![CDATA[.a > .b { fill: #fff }]]></style><path class='a'/>",
    ),
    svg(
      '<clipPath id="c"><rect/></clipPath><g clip-path="url(#c)">' +
        "<path/>".repeat(3_000) +
        "</g>",
    ),
    svg(
      '<linearGradient id="g"/><g style="fill:url(#g)"><text>Words</text></g>',
    ),
    svg(
      '<symbol id="s"><path/></symbol>' + "<use xlink:href='#s'/>".repeat(500),
    ),
    svg(
      '<image href="data:image/png;base64,iVBORw0KGgo="/><a href="#top"><path/></a>',
    ),
    svg(`<path d="${"M0 0 1 1".repeat(50_000)}"/>`),
  ];
  for (const drawing of drawings) checkDrawing(drawing);
});

Deno.test("checkDrawing() counts parts as often as they are drawn", () => {
  const attributes = ["clip-path", "mask", "filter", "fill", "stroke"];
  const drawings = [
    bomb((id) => `<use href="#${id}"/>`),
    bomb((id) => `<x:use y:href='#${id}'/>`),
    bomb((id) => `<use href="&#x23;${id}"/>`),
    bomb((id) => `<use href="picture.svg#${id}"/>`),
    bomb((id) => `<use href="#%61${id.slice(1)}"/>`),
    bomb((id) => `<use><set attributeName="href" to="#${id}"/></use>`),
    bomb((id) => `<use href="#${id}"/>`, (at) => `a${at} b`),
    bomb((id) => `<use href="#${id}"/>`, (at) => `a${at}" ID="none`),
    bomb((id) => `<path style='fill: url("#${id}")'/>`),
    ...attributes.map((name) => bomb((id) => `<g ${name}="url(#${id})"/>`)),
    svg(
      '<pattern id="p">' + "<path/>".repeat(200) +
        '</pattern><g fill="url(#p)">' +
        "<path/>".repeat(200) + "</g>",
    ),
    svg("<path/>".repeat(10_001)),
    svg(`<text>${"a\u05d0".repeat(6_000)}</text>`),
    svg(
      `<text id="t">${"a\u05d0".repeat(500)}</text>` +
        '<use href="#t"/>'.repeat(50),
    ),
    svg(
      `<path id="p" d="${"M0 0 1 1".repeat(50_000)}"/>` +
        '<use href="#p"/>'.repeat(50),
    ),
    svg('<g id="a"><use href="#a"/></g>'),
  ];
  for (const drawing of drawings) {
    assertThrows(
      () => checkDrawing(drawing),
      ConvertError,
      "too many parts",
      drawing.slice(0, 200),
    );
  }
});

Deno.test("checkDrawing() refuses what it cannot tell the parts of", () => {
  const drawings = [
    '<!DOCTYPE svg [<!ENTITY a "<use/>">]><svg>&a;</svg>',
    '<?xml-stylesheet href="data:text/css,*{}"?><svg/>',
    "<\u00e9:use/>",
    '<svg a="<!--"/><use/><!-- -->',
    svg("<style>* { clip-path: url(#c) }</style>"),
    svg("<style>* { clip-path: &#x75;rl(#c) }</style>"),
    svg("<style><![CDATA[@import 'x']]></style>"),
    svg("<g style='fill: u\\72l(#c)'/>"),
    svg('<image href="da\nta:image/svg+xml,x"/>'),
    svg("<foreignObject/>"),
    svg("<marker/>"),
  ];
  for (const drawing of drawings) {
    assertThrows(
      () => checkDrawing(drawing),
      ConvertError,
      "may take long",
      drawing,
    );
  }
});
