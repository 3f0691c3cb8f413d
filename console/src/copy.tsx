import { Button, type ButtonProps, CopyButton } from "@mantine/core";

interface CopyTextProps {
  readonly text: string;
  /** What there is room for; "" for the icon alone. All of the text is copied, and shown on hover. */
  readonly shown?: string;
  /** What the text is. */
  readonly label: string;
}

/** A text to copy. */
export function CopyText({ text, shown = text, label }: CopyTextProps) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          className="uid"
          size="compact-xs"
          variant={shown === "" ? "subtle" : "default"}
          color="gray"
          onClick={copy}
          title={copied ? "Copied" : text}
          aria-label={copied ? "Copied" : `Copy ${label} ${shown || text}`}
          rightSection={<CopyIcon isCopied={copied} />}
          classNames={{ section: "copy-icon" }}
        >
          {shown}
        </Button>
      )}
    </CopyButton>
  );
}

/** A button that copies a text beside it. `label`: what screen readers say instead of `Copy`. */
export function CopyTextButton({
  text,
  label,
  ...props
}: ButtonProps & { readonly text: string; readonly label?: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy} aria-label={label} {...props}>
          {copied ? "Copied" : "Copy"}
        </Button>
      )}
    </CopyButton>
  );
}

function CopyIcon({ isCopied }: { readonly isCopied: boolean }) {
  return (
    <svg
      width="12"
      height="12"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      aria-hidden="true"
    >
      <path d={isCopied ? "M2 8.5l4 4 8-9" : "M5.5 5.5h8v8h-8zM10.5 3v-.5h-8v8H3"} />
    </svg>
  );
}

/** The uid of a resource, by its last eight digits. */
export function Uid({ uid }: { readonly uid: string }) {
  return <CopyText label="uid" text={uid} shown={shortUid(uid)} />;
}

/** The last eight characters of a uid. */
export function shortUid(uid: string): string {
  return uid.length > 12 ? `…${uid.slice(-8)}` : uid;
}
