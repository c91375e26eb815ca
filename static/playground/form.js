// The form: what is typed or pasted becomes a state, and a state fills the form.

import { meantFields, parseRepository } from "./repository_input.js";

const form = document.getElementById("form");
const fields = form.elements;
const error = document.getElementById("repository-error");

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
  for (const name of ["collection", "branch", "page", "limit"]) fields[name].value = state[name];
  fields.includeContent.checked = state.includeContent;
  delete form.dataset.file;
  showError(null);
}

/** Marks the fields that a problem names. */
export function markFields(names) {
  for (const field of form.querySelectorAll("input")) {
    const wrong = names.includes(field.name) ||
      field.name === "repository" && (names.includes("owner") || names.includes("repo"));
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
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
  const text = (name) => fields[name].value.trim();
  return {
    owner: named.owner,
    repo: named.repo,
    collection: text("collection"),
    branch: text("branch"),
    page: text("page"),
    limit: text("limit"),
    includeContent: fields.includeContent.checked,
    path: form.dataset.file ?? "",
    view: "preview",
  };
}

function showError(text) {
  error.textContent = text ?? "";
  if (text === null) fields.repository.removeAttribute("aria-invalid");
  else fields.repository.setAttribute("aria-invalid", "true");
}
