// Working code for a request, to be copied. Addresses are encoded strictly (state.js), so they can stand in any quotes.

/**
 * A request as code.
 * @param {{ operation: string, parameters: import("./state.js").Parameters, url: string, baseUrl: string }} request
 * @returns {{ name: string, text: string }[]}
 */
export function snippetsFor({ operation, parameters, url, baseUrl }) {
  const isList = operation === "list-collection-items";
  return [
    { name: "URL", text: url },
    {
      name: "fetch",
      text: `const response = await fetch("${url}");
const answer = await response.json();
if (!response.ok) throw new Error(answer.detail);
console.log(${isList ? "answer.items" : "answer.content"});`,
    },
    { name: "curl", text: `curl -i --compressed "${url}"` },
    {
      name: "JavaScript",
      text: `import { CollectionsClient } from "${new URL("client.js", baseUrl)}";

const client = new CollectionsClient("${new URL(".", baseUrl)}");
${
        isList
          ? `const { items, pagination } = await client.listItems(${literal(parameters)});
console.log(pagination.totalItems, items.map((item) => item.slug));`
          : `const { frontMatter, content } = await client.getItem(${literal(parameters)});
console.log(frontMatter, content);`
      }`,
    },
  ];
}

const NUMBERS = ["page", "limit"];
const FLAGS = ["includeContent", "includeFrontMatter", "recursive"];

/** Parameters as the client takes them: numbers and flags as such, filters as an object. */
function literal(/** @type {import("./state.js").Parameters} */ parameters) {
  const fields = Object.entries(parameters).map(([name, value]) => {
    if (typeof value !== "string") return `  ${name}: ${filterLiteral(value)},\n`;
    const plain = NUMBERS.includes(name) && /^\d+$/.test(value) || FLAGS.includes(name);
    return `  ${name}: ${plain ? value : JSON.stringify(value)},\n`;
  });
  return `{\n${fields.join("")}}`;
}

function filterLiteral(/** @type {string[][]} */ pairs) {
  const fields = Map.groupBy(pairs, ([key]) => key);
  const texts = [...fields].map(([key, values]) => {
    const all = values.map(([, value]) => value);
    return `${JSON.stringify(key)}: ${JSON.stringify(all.length === 1 ? all[0] : all)}`;
  });
  return `{ ${texts.join(", ")} }`;
}
