// Posts with varied front matter, as in real repositories.

/** Paths in `posts` and texts; the same count gives the same files. */
export function* writePosts(count: number): Generator<readonly [path: string, text: string]> {
  for (let number = 0; number < count; number++) {
    const folder = number % 11 === 0 ? "" : `${2016 + number % 11}/`;
    yield [`posts/${folder}post-${number}.md`, post(number)];
  }
}

const DATES = [
  (day: string) => day,
  (day: string) => `"${day}"`,
  (day: string) => `${day}T08:30:00Z`,
  (day: string) => `${day} 09:00:00`,
  (day: string) => `${day}T23:30:00-05:00`,
  (day: string) => `${day}T01:00:00.250+02:00`,
  () => "soon",
  () => "null",
];
const MIXED = ["3", "12.5", "true", "false", "2024-02-30", "2024-05-01", "[1, 2]", "{a: 1}", "~"];
const WORDS = ["Émile", "apple 2", "apple 10", "Apple 10", "zebra", "äpfel", "Ω", "-", "10 ways"];

function post(number: number): string {
  if (number % 41 === 0) return `# Post ${number}, without front matter\n`;
  // A stride that shares no factor with the range keeps dates out of the order of paths.
  const day = new Date(Date.UTC(2016, 0, 1) + (number * 7919 % 3001) * 86_400_000).toISOString();
  const lines = [
    `title: "${WORDS[number * 5 % WORDS.length]} ${number * 31 % 97}"`,
    `date: ${DATES[number % DATES.length]!(day.slice(0, 10))}`,
    `weight: ${number * 17 % 40 - 5}`,
    `mixed: ${MIXED[number * 7 % MIXED.length]}`,
    `tags: ${number % 3 === 0 ? "[deno, web]" : number % 3 === 1 ? "git" : "[git, 2024, true]"}`,
    `draft: ${number % 10 === 0}`,
    `author: { name: "${WORDS[number % WORDS.length]}", id: ${number % 13} }`,
  ];
  // Every key is absent somewhere.
  const kept = lines.filter((_, index) => (number + index) % 19 !== 0);
  return `---\n${kept.join("\n")}\n---\n\n# Post ${number}\n${"Words. ".repeat(number % 40)}\n`;
}
