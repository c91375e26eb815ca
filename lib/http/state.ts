// What a request carries from one middleware to the next, and the typed `define` that routes are written with.

import { createDefine } from "fresh";
import type { Services } from "../services.ts";
import type { Exchange } from "./exchange.ts";

/** Fresh's per-request state. */
export interface State {
  services: Services;
  exchange: Exchange;
}

/** `define.handlers` and `define.middleware` with this service's state. */
export const define = createDefine<State>();
