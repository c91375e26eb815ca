// Shows the OpenAPI document of this deployment in Swagger UI.

/* global SwaggerUIBundle */

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

globalThis.SwaggerUIBundle({
  url: "api/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "full",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // Or it would ask a validator elsewhere.
  validatorUrl: null,
});
