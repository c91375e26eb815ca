// The error that carries an HTTP status. Fresh throws it itself for an unknown path or method.

import type { ErrorStatus } from "@std/http";

/** A failed request, as an HTTP status from 400 to 599. */
export class HttpError extends Error {
  status: ErrorStatus;

  constructor(status: ErrorStatus, message?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.status = status;
  }
}
