/// <reference lib="dom" />
// Marks in a list of contents the section that is being read.

/** From the top of the window: what begins above is being read. */
const LINE_PX = 120;

/** Keeps the mark where the reader is, and the marked link in view. */
export function followReading(contents: HTMLElement): void {
  const links = [
    ...contents.querySelectorAll<HTMLAnchorElement>('a[href^="#"]'),
  ].flatMap((link) => {
    const id = decodeURIComponent(link.hash.slice(1));
    const section = document.getElementById(id);
    return section === null ? [] : [{ link, section }];
  });
  let marked: HTMLAnchorElement | undefined;
  const mark = () => {
    const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - 2;
    const current = isAtEnd
      ? links.at(-1)
      : links.findLast(({ section }) =>
        section.getBoundingClientRect().top <= LINE_PX
      );
    if (current?.link === marked) return;
    marked?.removeAttribute("aria-current");
    marked = current?.link;
    marked?.setAttribute("aria-current", "true");
    if (marked === undefined) return;
    const { top, bottom } = marked.getBoundingClientRect();
    const box = contents.getBoundingClientRect();
    if (top < box.top) contents.scrollTop -= box.top - top + box.height / 2;
    else if (bottom > box.bottom) {
      contents.scrollTop += bottom - box.bottom + box.height / 2;
    }
  };
  let isWaiting = false;
  addEventListener("scroll", () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      mark();
    });
  }, { passive: true });
  mark();
}
