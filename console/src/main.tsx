import "./mantine.css";
import "./style.css";
import { type CSSVariablesResolver, createTheme, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Console } from "./console.tsx";

/** The nonce of this response, which style elements made by scripts must carry. */
const nonce = document.querySelector<HTMLElement>('meta[property="csp-nonce"]')?.nonce ?? "";
// react-remove-scroll, which Mantine's overlays use, reads it here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 8 },
  defaultRadius: "md",
  components: {
    CloseButton: { defaultProps: { "aria-label": "Close" } },
    Skeleton: { defaultProps: { role: "status" } }, // what has a label needs a role
  },
});

/** Muted text, errors and links with a contrast of 4.5 on every background. */
const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-anchor": "#3b5bdb",
    "--mantine-color-dimmed": "#565e66",
    "--mantine-color-error": "#c92a2a",
    "--mantine-color-placeholder": "#666e76",
  },
  dark: {
    "--mantine-color-anchor": "#91a7ff",
    "--mantine-color-dimmed": "#adb5bd",
    "--mantine-color-error": "#ff8787",
    "--mantine-color-placeholder": "#adb5bd",
  },
});

createRoot(document.getElementById("console")!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
      cssVariablesResolver={cssVariablesResolver}
    >
      <Notifications position="bottom-right" />
      <Console />
    </MantineProvider>
  </StrictMode>,
);
