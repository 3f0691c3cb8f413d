/** Endpoints at paths that belong to no service. */
import type { PortRequest, PortResponse } from "../message/index.ts";

/** Answers requests to one path; false for an HTTP method that it does not take. */
export type Endpoint = (request: PortRequest, response: PortResponse) => boolean;

/** Endpoints by path. */
export type Endpoints = Readonly<Record<string, Endpoint>>;
