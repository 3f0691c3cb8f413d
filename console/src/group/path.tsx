import { Reference } from "../links.tsx";

const groupType = "iam.platform.internal/Group";

/** Where a group is: the groups from its root down to it, by name where the caller may read it. */
export function GroupPath({ uid }: { readonly uid: string }) {
  const ends = [...uid.matchAll(/\/|$/g)].map(({ index }) => index);
  return (
    <span className="path">
      {ends.map((end, i) => (
        <span key={end}>
          {i > 0 && <span aria-hidden="true"> / </span>}
          <Reference type={groupType} uid={uid.slice(0, end)} />
        </span>
      ))}
    </span>
  );
}
