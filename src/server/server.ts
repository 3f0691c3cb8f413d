/** Builds the server, part by part, and takes it apart in reverse. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRegistry, type DescFile } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createAuthenticator, createIssuer, createKeySets } from "../auth/index.ts";
import { baseUrlOf, type Config } from "../config.ts";
import { readContract, warmValidation } from "../contract/index.ts";
import { atEdge } from "../errors.ts";
import type { Logger } from "../log.ts";
import { createPageTokens } from "../resource/index.ts";
import { createRestHandler, statusBody } from "../rest/index.ts";
import { createServices, grantSource, identitySource } from "../services/index.ts";
import { type Database, openDatabase } from "../store/index.ts";
import { createConnectHandler } from "./connect-adapter.ts";
import { handleCors } from "./cors.ts";
import { createEndpoints } from "./endpoints.ts";
import { createHealth } from "./health.ts";
import { install, type Installation, readInstallation, refreshBuiltIns } from "./installation.ts";
import { createLocalTransport } from "./local-transport.ts";
import { createOnePort, type PortRequest, type PortResponse } from "./one-port.ts";
import { createPipeline } from "./pipeline.ts";
import { createReflection } from "./reflection.ts";

/** How long calls in flight may take to finish once the server stops. */
const graceMs = 10_000;

/** A server that takes calls. */
export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /** Set when this start initialised the database. */
  readonly installed: Installation | undefined;
  /** A token of the platform's own for an identity. */
  mintToken(identityUid: string, ttlSeconds: number): Promise<string>;
  /** Stops taking calls, lets those in flight finish for 10 s, closes the database. */
  stop(): Promise<void>;
}

