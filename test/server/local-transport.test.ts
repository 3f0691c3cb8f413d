import { create } from "@bufbuild/protobuf";
import { type AnyMessage, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createContextKey, createContextValues, type Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Health, HealthCheckResponseSchema, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
