import type { JsonObject } from "@bufbuild/protobuf";
import { Stack } from "@mantine/core";
import { parentOf } from "../../../src/uid.ts";
import { Named } from "../access/grants.tsx";
import { Capabilities } from "../access/role-capabilities.tsx";
import { GroupPath } from "../group/path.tsx";
import { Time } from "../time.tsx";
import type { TabProps } from "../view/tab-props.ts";
import { InviteLink } from "./link.tsx";

/** Whom an invite is for, what they get, and where they accept it. */
export function InviteTab({ resource }: TabProps) {
  const uid = String(resource.uid);
  const role = resource.role as JsonObject | undefined;
  const expiry = String(resource.expirationTime);
  const isExpired = Date.parse(expiry) <= Date.now();
  return (
    <Stack>
      <dl className="fields">
        <div>
          <dt>For</dt>
          <dd>{resource.email ? String(resource.email) : "Whoever has the code"}</dd>
        </div>
        <div>
          <dt>Group</dt>
          <dd>
            <GroupPath uid={parentOf(uid)} />
          </dd>
        </div>
        <div>
          <dt>Can be accepted</dt>
          <dd>{resource.singleUse ? "Once" : "Any number of times"}</dd>
        </div>
        <div>
          <dt>{isExpired ? "Expired" : "Expires"}</dt>
          <dd>
            <Time time={expiry} />
          </dd>
        </div>
        <div>
          <dt>Role</dt>
          <dd>{role === undefined ? "It has been deleted" : <Named resource="roles" it={role} />}</dd>
        </div>
      </dl>
      {!isExpired && <InviteLink />}
      {role !== undefined && <Capabilities values={(role.capabilities ?? []) as string[]} />}
    </Stack>
  );
}
