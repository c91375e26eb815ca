// The part of Fresh 2.3 that an API without pages needs, under the published package's name.
// It has Fresh's signatures and behaviour; see ../README.md.

export { App } from "./app.ts";
export type { FreshConfig, ResolvedFreshConfig } from "./config.ts";
export type { Context } from "./context.ts";
export { createDefine, type Define } from "./define.ts";
export { HttpError } from "./error.ts";
export type { ListenOptions } from "./listen.ts";
export type {
  HandlerByMethod,
  HandlerFn,
  Lazy,
  MaybeLazy,
  Method,
  Middleware,
  MiddlewareFn,
  PageResponse,
  RouteConfig,
  RouteHandler,
} from "./types.ts";
