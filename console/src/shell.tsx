import {
  AppShell,
  Burger,
  Button,
  Group,
  type MantineColorScheme,
  Menu,
  Modal,
  ScrollArea,
  Skeleton,
  Text,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef } from "react";
import { title, useContract } from "./contract.ts";
import { NavigationLink, TextLink } from "./links.tsx";
import { pageTitle } from "./page-title.ts";
import { useSession } from "./session/session.tsx";

const Palette = lazy(() => import("./palette/palette.tsx").then((module) => ({ default: module.Palette })));

/** What every page has: navigation by domain, colours, sign-out. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const [isPaletteOpen, palette] = useDisclosure();
  useHotkeys([["mod+K", palette.toggle]], []);
  const { pathname } = useLocation();
  const shown = useRef(pathname);
  // Another page closes the navigation of a phone, and has the focus, so that the keyboard goes on in it.
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    close();
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [pathname, close]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 250, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding="lg"
    >
      <title>{pageTitle(pathname, useContract())}</title>
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <Modal
        opened={isPaletteOpen}
        onClose={palette.close}
        title="Go to"
        size="lg"
        padding="sm"
        transitionProps={{ duration: 0 }}
      >
        <Suspense fallback={<Skeleton height={36} />}>
          <Palette close={palette.close} />
        </Suspense>
      </Modal>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Text fw={700} component="div">
              <TextLink to="/" underline="never" c="inherit">
                Platform API
              </TextLink>
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Button
              variant="default"
              size="xs"
              onClick={palette.open}
              title="Ctrl+K"
              aria-keyshortcuts="Control+K Meta+K"
            >
              Go to…
            </Button>
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label="Resources">
        <ScrollArea p="xs">
          <Navigation />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}

function Navigation() {
  const { domains } = useContract();
  const { pathname } = useLocation();
  return (
    <>
      <NavigationLink to="/tree" label="Group tree" py={6} active={pathname === "/tree"} />
      {domains.map((domain) => (
        <section key={domain.title} aria-label={domain.title}>
          <Text size="xs" fw={600} c="dimmed" px="sm" pt="md" pb={4}>
            {domain.title}
          </Text>
          {domain.resources.map(({ plural }) => (
            <NavigationLink
              key={plural}
              to="/list/$resource"
              params={{ resource: plural }}
              label={title(plural)}
              py={6}
              active={pathname.split("/")[2] === plural}
            />
          ))}
        </section>
      ))}
    </>
  );
}

/** Who is signed in, and the colours of the pages. */
function Account() {
  const { claims, isRenewed, signOut } = useSession();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const name = String(claims.email ?? claims.name ?? claims.sub ?? "Signed in");
  return (
    <Menu position="bottom-end" width={260} withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button variant="default" size="xs">
          Account
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text component="div" size="xs" truncate title={name}>
            {name}
          </Text>
          {typeof claims.exp === "number" && !isRenewed && `Until ${new Date(claims.exp * 1000).toLocaleString()}`}
        </Menu.Label>
        <Menu.RadioGroup
          aria-label="Colours"
          value={colorScheme}
          onChange={(scheme) => setColorScheme(scheme as MantineColorScheme)}
        >
          <Menu.RadioItem value="auto">Colours of the system</Menu.RadioItem>
          <Menu.RadioItem value="light">Light</Menu.RadioItem>
          <Menu.RadioItem value="dark">Dark</Menu.RadioItem>
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item component="a" href="/docs">
          API reference
        </Menu.Item>
        <Menu.Item onClick={signOut}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
