// The page works without this script. With it, Enter sends the box, Shift+Enter begins a line, a button copies a citation,
// and a key that the user typed into the page stays in this tab: it goes along with each request as a header, never in an address.
"use strict";

const KEY = "factseek-key";

function kept() {
  try {
    return sessionStorage.getItem(KEY) || "";
  } catch {
    return ""; // the browser stores nothing
  }
}

let key = kept();
let shown = location.pathname + location.search;

function keep(value) {
  key = value;
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // The key then lasts until the next page that the browser loads by itself.
  }
}

// What each page needs once it is there, whether the browser or this script has loaded it.
function begin() {
  for (const box of document.querySelectorAll("textarea[data-enter]")) {
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        box.form.requestSubmit();
      }
    });
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const field = document.getElementById(button.dataset.copy);
    button.hidden = false;
    button.addEventListener("click", async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
      } catch {
        document.execCommand("copy"); // a page that is not served over HTTPS has no clipboard of its own
      }
      button.firstChild.data = button.dataset.copied;
    });
  }
  // A click into a citation selects all of it.
  for (const field of document.querySelectorAll(".copy textarea")) {
    field.addEventListener("focus", () => field.select());
  }
  // Say before it is sent that a file is too large.
  for (const field of document.querySelectorAll("input[data-most]")) {
    field.addEventListener("change", () => {
      const tooLarge = [...field.files].some((file) => file.size > Number(field.dataset.most));
      field.setCustomValidity(tooLarge ? field.dataset.tooLarge : "");
      field.reportValidity();
    });
  }
  for (const form of document.querySelectorAll("form[data-key]")) {
    form.hidden = Boolean(key); // with a key, the page behind this one is on its way
    if (!form.hidden) form.elements.key.focus();
  }
  for (const offer of document.querySelectorAll("[data-forget]")) {
    offer.hidden = !key;
    offer.querySelector("button").addEventListener("click", () => {
      keep("");
      location.assign(document.querySelector("a.brand").href);
    });
  }
}

// Load a page with the key, and put it in the place of this one.
async function show(address, request, history_) {
  let answer, content;
  document.body.setAttribute("aria-busy", "true");
  try {
    const headers = { Authorization: `Bearer ${key}`, Accept: "text/html,*/*;q=0.8" };
    answer = await fetch(address, { ...request, headers, credentials: "omit" });
    content = await answer.blob();
  } catch {
    const notice = document.querySelector("[data-unanswered]");
    notice.hidden = false;
    notice.scrollIntoView({ block: "center" });
    return;
  } finally {
    document.body.removeAttribute("aria-busy");
  }
  if (!(answer.headers.get("Content-Type") || "").startsWith("text/html")) {
    hand(answer, content);
    return;
  }
  const page = new DOMParser().parseFromString(await content.text(), "text/html");
  if (answer.status === 401) {
    for (const notice of page.querySelectorAll("[data-wrong]")) notice.hidden = !key;
    keep("");
  }
  const here = new URL(answer.url);
  here.hash = new URL(address, location.href).hash;
  if (history_ === "push") history.pushState(null, "", here);
  shown = here.pathname + here.search;
  document.title = page.title;
  document.documentElement.lang = page.documentElement.lang;
  document.documentElement.dir = page.documentElement.dir;
  document.body.replaceWith(page.body);
  begin();
  const target = here.hash && document.getElementById(decodeURIComponent(here.hash.slice(1)));
  if (target) target.scrollIntoView();
  else window.scrollTo(0, 0);
  if (!document.activeElement || document.activeElement === document.body) {
    document.getElementById("main").focus({ preventScroll: true });
  }
}

// Save or show what is not a page.
function hand(answer, content) {
  const disposition = answer.headers.get("Content-Disposition") || "";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  if (disposition.startsWith("attachment")) {
    link.download = (/filename="?([^";]+)/.exec(disposition) || ["", "download"])[1];
    link.click();
  } else {
    location.assign(link.href);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  const by = event.submitter;
  if (form.matches("form[data-key]")) {
    event.preventDefault();
    keep(form.elements.key.value.trim());
    show(location.href, {}, "");
    return;
  }
  if (!key || event.defaultPrevented) return;
  const address = new URL((by && by.getAttribute("formaction")) || form.getAttribute("action") || "", location.href);
  if (address.origin !== location.origin) return;
  event.preventDefault();
  const fields = new FormData(form, by);
  if ((form.getAttribute("method") || "get").toLowerCase() === "post") {
    show(address.href, { method: "POST", body: fields }, "push");
  } else {
    address.search = new URLSearchParams(fields).toString();
    show(address.href, {}, "push");
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!key || !link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target || link.download) return;
  const address = new URL(link.href);
  if (address.origin !== location.origin || !address.protocol.startsWith("http")) return;
  if (address.hash && address.pathname + address.search === shown) return; // a place on this page
  event.preventDefault();
  show(address.href, {}, "push");
});

window.addEventListener("popstate", () => {
  if (key && location.pathname + location.search !== shown) show(location.href, {}, "");
});

begin();
// The browser itself asked for this page, without the key.
if (key && document.querySelector("form[data-key], [data-more-with-key]")) show(location.href, {}, "");
