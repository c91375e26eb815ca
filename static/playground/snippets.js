// Working code for a request, to be copied. Addresses are encoded strictly (state.js), so they can stand in any quotes.

/**
 * A request as code.
 * @param {{ operation: string, parameters: Record<string, string>, url: string, baseUrl: string }} request
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

/** Parameters as the client takes them: numbers and flags as such. */
function literal(/** @type {Record<string, string>} */ parameters) {
  const fields = Object.entries(parameters).map(([name, value]) => {
    const plain = ["page", "limit"].includes(name) && /^\d+$/.test(value) ||
      name === "includeContent";
    return `  ${name}: ${plain ? value : JSON.stringify(value)},\n`;
  });
  return `{\n${fields.join("")}}`;
}
