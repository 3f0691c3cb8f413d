import { Group, Stack, Text, TextInput } from "@mantine/core";
import { QRCodeSVG } from "qrcode.react";
import { CopyTextButton } from "../copy.tsx";
import { acceptAddress } from "./code.ts";

/** The address to accept an invite at, as a text to copy and as a QR code. */
export function InviteLink({ code }: { readonly code?: string }) {
  const address = acceptAddress(code);
  const label = code === undefined ? "Page that accepts invites" : "Link to accept it";
  return (
    <Group align="flex-start">
      <QRCodeSVG value={address} size={220} marginSize={4} className="qr" role="img" aria-label={`QR code: ${label}`} />
      <Stack gap="xs" className="link">
        <Group align="flex-end" gap="xs" wrap="nowrap">
          <TextInput
            flex={1}
            readOnly
            label={label}
            value={address}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
          <CopyTextButton text={address} />
        </Group>
        <Text size="sm" c="dimmed">
          {code === undefined
            ? "Whoever has the code enters it there. The link that has the code in it was shown when the invite was created. If nobody has kept it, create another invite."
            : "Whoever has the link can join the group, unless the invite is for one e-mail address. Copy it now: it is not shown again. Browsers do not send the code behind the # when they load the page."}
        </Text>
      </Stack>
    </Group>
  );
}
