/** Numbers, sizes, times and costs in words of the reader's language. */

import { language, t } from "./i18n.js";

const UNITS = ["B", "kB", "MB", "GB", "TB"];

const locale = () => (language() === "zh" ? "zh-CN" : "en-GB");

export const number = (value, digits = 0) =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(value ?? 0);

export const percent = (value) =>
  new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: 0 }).format(
    value ?? 0,
  );

/** Milliseconds below a second, else seconds with one digit. */
export function duration(seconds) {
  if (seconds < 0.0095) return t("unit.ms", { count: number(seconds * 1000, 1) });
  if (seconds < 0.9995) return t("unit.ms", { count: number(seconds * 1000) });
  return t("unit.s", { count: number(seconds, 1) });
}

export function bytes(count) {
  let value = count ?? 0;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${number(value, unit && value < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/** An amount with as many digits as it takes to see it, and its currency where it has one. */
export function cost(amount, currency) {
  if (amount === null || amount === undefined) return t("usage.unknown");
  const digits = amount === 0 || amount >= 1 ? 2 : 4;
  return new Intl.NumberFormat(locale(), {
    ...(currency && amount ? { style: "currency", currency } : {}),
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(amount);
}

/** What models did for an answer, in a line. */
export function usageLine(usage) {
  if (!usage || (!usage.calls && !usage.cached_calls)) return t("answer.noModel");
  const tokens = (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
  return [
    t("count.calls", { n: usage.calls ?? 0 }),
    usage.cached_calls ? t("count.kept", { n: usage.cached_calls }) : "",
    t("count.tokens", { n: tokens }),
    t("answer.cost", { cost: cost(usage.cost, usage.currency) }),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The page of a citation, where its document has pages. */
export const pageName = (page) => (page ? t("source.page", { page: number(page) }) : "");

/** A document id as people read it: its last part, without a namespace. */
export const shortName = (id) => id.split("::").at(-1).split("/").filter(Boolean).at(-1) ?? id;
