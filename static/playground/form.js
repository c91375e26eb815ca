// The form: what is typed or pasted becomes a state, and a state fills the form.

import { meantFields, parseRepository } from "./repository_input.js";

const form = document.getElementById("form");
const fields = form.elements;
const error = document.getElementById("repository-error");

const more = document.getElementById("more");
const TEXTS = ["collection", "branch", "page", "limit", "sort", "filter"];
const FLAGS = ["includeContent", "includeFrontMatter", "recursive"];
let shownRepository = "";

/** Calls `onSubmit` with the state that the form asks for. */
export function listenToForm(onSubmit) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const state = readForm();
    if (state !== null) onSubmit(state);
  });
  fields.repository.addEventListener("input", () => showError(null));
  fields.repository.addEventListener("paste", () => queueMicrotask(() => setTimeout(spread)));
  fields.repository.addEventListener("change", spread);
}

/** Shows a state in the form. */
export function fillForm(state) {
  shownRepository = [state.owner, state.repo].filter((part) => part !== "").join("/");
  fields.repository.value = shownRepository;
  for (const name of TEXTS) fields[name].value = state[name];
  for (const name of FLAGS) fields[name].checked = state[name];
  // What the list is made by is in sight; that it is closed again is the reader's affair.
  if (state.sort !== "" || state.filter !== "" || state.includeFrontMatter || !state.recursive) {
    more.open = true;
  }
  delete form.dataset.file;
  showError(null);
}

/** Marks the fields that a problem's errors are about, and ties each to the lines that say what is wrong with it. */
export function markFields(lines) {
  for (const [index, line] of lines.entries()) line.id = `error-${index}`;
  for (const field of form.querySelectorAll("input")) {
    const about = lines.filter(({ dataset }) => fieldOf(dataset.parameter) === field.name);
    field.dataset.help ??= field.getAttribute("aria-describedby") ?? "";
    const describedBy = [field.dataset.help, ...about.map(({ id }) => id)].join(" ").trim();
    setOrRemove(field, "aria-describedby", describedBy);
    setOrRemove(field, "aria-invalid", about.length > 0 ? "true" : "");
    if (about.length > 0 && more.contains(field)) more.open = true;
  }
}

function setOrRemove(element, name, value) {
  if (value === "") element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/** The field for a parameter. */
function fieldOf(parameter) {
  if (parameter === "owner" || parameter === "repo") return "repository";
  return parameter.startsWith("filter[") ? "filter" : parameter;
}

/** An address fills the other fields too. */
function spread() {
  const meant = meantFields(fields.repository.value, shownRepository);
  if (meant === null) return;
  const { file, ...values } = meant;
  for (const [name, value] of Object.entries(values)) fields[name].value = value;
  if (file !== undefined) form.dataset.file = file;
  else if (values.collection !== undefined) delete form.dataset.file;
}

function readForm() {
  spread();
  const named = parseRepository(fields.repository.value);
  if (named === null) {
    showError("This names no repository.");
    fields.repository.focus();
    return null;
  }
  return {
    owner: named.owner,
    repo: named.repo,
    ...Object.fromEntries(TEXTS.map((name) => [name, fields[name].value.trim()])),
    ...Object.fromEntries(FLAGS.map((name) => [name, fields[name].checked])),
    path: form.dataset.file ?? "",
    view: "preview",
  };
}

function showError(text) {
  error.textContent = text ?? "";
  if (text === null) fields.repository.removeAttribute("aria-invalid");
  else fields.repository.setAttribute("aria-invalid", "true");
}
