// What a request carries from one middleware to the next, and the typed `define` that routes are written with.

import { createDefine } from "fresh";
import type { Services } from "../services.ts";
import type { Exchange } from "./exchange.ts";

/** Fresh's per-request state. */
export interface State {
  services: Services;
  exchange: Exchange;
}

/** Fresh's typed helpers with this service's state; routes use `define.handlers`. */
export const define = createDefine<State>();
