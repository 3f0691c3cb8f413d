/** The common result of the formats of advisories. */
import type { Document } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";

/** A document, and properties of its advisories that are not in it. */
export interface Published {
  readonly document: Document;
  readonly publication: Publication;
  /** Release of the distribution: `3.19`. */
  readonly release?: string | undefined;
  /** The repository of the packages, if the format names it: `v3.19/main`. */
  readonly repository?: string;
}

/** Properties of advisories that documents do not have. */
export interface Publication {
  /** Author of the advisories and their events. */
  readonly author: string;
  /** Type of the packages: `apk`. Absent if each advisory names its package, version and subcomponent (OpenVEX). */
  readonly artifactType?: string;
}
