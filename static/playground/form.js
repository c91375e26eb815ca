// The form: what is typed or pasted becomes a state, and a state fills the form.

import { parseRepository } from "./repository_input.js";

const form = document.getElementById("form");
const fields = form.elements;
const error = document.getElementById("repository-error");

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
  fields.repository.value = [state.owner, state.repo].filter((part) => part !== "").join("/");
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

/** An address that names more than a repository fills the other fields too. */
function spread() {
  const named = parseRepository(fields.repository.value);
  if (named === null) return;
  fields.repository.value = `${named.owner}/${named.repo}`;
  if (named.branch === undefined) return;
  const folder = named.folder ?? named.file?.split("/").slice(0, -1).join("/");
  fields.branch.value = named.branch;
  fields.collection.value = folder || "/";
  fields.page.value = "";
  if (named.file === undefined) delete form.dataset.file;
  else form.dataset.file = named.file;
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
