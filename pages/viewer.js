// Prepares the page for the viewer, which is loaded after this script, and starts it.
//
// The policy of the page forbids inline styles. Style elements that the viewer makes get the nonce of the page. Style
// attributes are set through the CSS object model, which the policy allows.
const nonce = document.querySelector("meta[property=csp-nonce]").nonce;

const createElement = document.createElement;
document.createElement = function (name, ...options) {
  const element = createElement.call(this, name, ...options);
  if (/^style$/i.test(name)) element.nonce = nonce;
  return element;
};

const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

const innerHtml = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
Object.defineProperty(Element.prototype, "innerHTML", {
  ...innerHtml,
  set(html) {
    innerHtml.set.call(this, String(html).replace(/(<[^>]*?\s)style=/g, "$1data-style="));
    const root = this instanceof HTMLTemplateElement ? this.content : this;
    for (const element of root.querySelectorAll("[data-style]")) {
      element.style.cssText = element.getAttribute("data-style");
      element.removeAttribute("data-style");
    }
  },
});

/** Names what the viewer leaves without a name, and lets the keyboard reach what scrolls. */
function complete() {
  for (const button of document.querySelectorAll("button[class*=copy-button]:not([aria-label])"))
    button.setAttribute("aria-label", "Copy");
  for (const list of document.querySelectorAll("ul.endpoints:not([tabindex])")) list.tabIndex = 0;
}

document.addEventListener("DOMContentLoaded", () => {
  new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
  // Nothing is loaded from elsewhere, and the token stays in memory.
  globalThis.Scalar.createApiReference("#viewer", {
    url: "/docs/openapi.json",
    hideClientButton: true,
    withDefaultFonts: false,
    telemetry: false,
    persistAuth: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: "never",
    documentDownloadType: "none",
    defaultOpenAllTags: false,
    operationTitleSource: "summary",
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    hiddenClients: [
      "c",
      "clojure",
      "csharp",
      "dart",
      "fsharp",
      "java",
      "kotlin",
      "objc",
      "ocaml",
      "php",
      "powershell",
      "r",
      "ruby",
      "rust",
      "swift",
    ],
  });
});
