// Draws the charts of the report from the descriptions in the page: bars, points and waterfalls.
(function () {
  "use strict";

  // Colours that stay apart for the colour-blind (Okabe, Ito, 2008), darker on light and lighter on dark grounds; series differ
  // by pattern or symbol too.
  const THEMES = {
    light: {
      text: "#1b1f24", quiet: "#57606a", line: "#d0d7de", back: "#ffffff",
      colors: ["#0072b2", "#d55e00", "#00795a", "#a3527f", "#8a6d00", "#4b5563"],
    },
    dark: {
      text: "#e6edf3", quiet: "#9aa5b1", line: "#333c46", back: "#0f1318",
      colors: ["#56b4e9", "#f0883e", "#3fc59d", "#dd8fb9", "#e3c443", "#b6bec8"],
    },
  };
  const SYMBOLS = ["circle", "triangle", "rect", "diamond", "emptyCircle", "emptyTriangle"];
  const DASHES = ["solid", "dashed", "dotted", [8, 3, 2, 3], [2, 2], [12, 4]];
  const PRINT_WIDTH = 680;
  const FONT = 12;

  const digits = (number) => number >= 99.95 ? number.toFixed(0) : number >= 9.995 ? number.toFixed(1) : number.toFixed(2);
  const short = (number) => String(Number(number.toPrecision(3)));
  const duration = (ns, number) => {
    const size = Math.abs(ns), sign = ns < 0 ? "−" : "";
    if (size < 999.5) return sign + (number === short ? short(size) : size < 0.995 ? size.toFixed(2) : size.toFixed(0)) + " ns";
    if (size < 999.5e3) return sign + number(size / 1e3) + " µs";
    if (size < 999.5e6) return sign + number(size / 1e6) + " ms";
    return sign + number(size / 1e9) + " s";
  };
  const bytes = (count) => {
    const units = ["B", "KiB", "MiB", "GiB"];
    let at = 0;
    while (count >= 1024 && at < units.length - 1) { count /= 1024; at += 1; }
    return short(count) + " " + units[at];
  };
  const UNITS = {
    ns: (value) => duration(value, digits),
    bytes,
    count: (value) => value >= 1e6 ? short(value / 1e6) + " M" : value >= 1e3 ? short(value / 1e3) + " k" : short(value),
    percent: (value) => Math.round(value) + " %",
  };
  const onAxis = (unit) => unit === "ns" ? (value) => duration(value, short) : UNITS[unit];

  const escapeText = (text) => String(text).replace(/[&<>"']/g, (sign) => "&#" + sign.charCodeAt(0) + ";");

  function axis(theme, unit, more) {
    return Object.assign({
      axisLabel: { color: theme.quiet, fontSize: FONT, hideOverlap: true, formatter: unit ? onAxis(unit) : undefined },
      nameTextStyle: { color: theme.quiet, fontSize: FONT },
      axisLine: { show: true, lineStyle: { color: theme.line } },
      splitLine: { lineStyle: { color: theme.line } },
      minorTick: { show: false },
    }, more);
  }

  function common(theme, names) {
    return {
      animation: false,
      backgroundColor: "transparent",
      color: theme.colors,
      textStyle: { color: theme.text, fontFamily: "system-ui, 'DejaVu Sans', sans-serif", fontSize: FONT },
      legend: {
        show: names.length > 1, type: "plain", top: 0, left: 0, itemGap: 16, data: names, inactiveColor: theme.quiet,
        textStyle: { color: theme.text, fontSize: FONT },
      },
      tooltip: {
        confine: true, backgroundColor: theme.back, borderColor: theme.line, textStyle: { color: theme.text, fontSize: FONT },
      },
      aria: { enabled: false },
    };
  }

  // The powers of ten around all values: bars of a logarithmic axis need a foot.
  function decades(values) {
    const found = values.filter((value) => value > 0);
    if (!found.length) return { min: 1, max: 10 };
    return {
      min: Math.pow(10, Math.floor(Math.log10(Math.min(...found)))),
      max: Math.pow(10, Math.ceil(Math.log10(Math.max(...found)) + 1e-9)),
    };
  }

  const legendHeight = (names, width) => {
    if (names.length < 2) return 8;
    const long = names.reduce((sum, name) => sum + name.length * 7 + 46, 0);
    return 12 + 20 * Math.ceil(long / Math.max(width, 1));
  };

  function bars(chart, theme, width) {
    const names = chart.series.map((series) => series.name);
    const unit = chart.unit || "ns";
    const isLogarithmic = unit === "ns";
    const all = chart.series.flatMap((series) => series.values);
    const each = names.length * (names.length > 2 ? 9 : 12) + 9;
    const top = legendHeight(names, width);
    const option = common(theme, names);
    option.grid = { left: 8, right: 24, top, bottom: 8, containLabel: true };
    option.xAxis = axis(theme, unit, Object.assign(
      { type: isLogarithmic ? "log" : "value" }, isLogarithmic ? decades(all) : { min: 0 }));
    option.yAxis = axis(theme, null, {
      type: "category", inverse: true, data: chart.categories, splitLine: { show: false }, axisTick: { show: false },
      axisLabel: { color: theme.text, fontSize: FONT, interval: 0, width: Math.min(230, width * 0.35), overflow: "truncate" },
    });
    option.tooltip.trigger = "axis";
    option.tooltip.axisPointer = { type: "shadow" };
    option.tooltip.valueFormatter = (value) => value == null ? "-" : UNITS[unit](value);
    option.aria = { enabled: true, label: { enabled: false }, decal: { show: names.length > 1 } };
    option.series = chart.series.map((series, at) => ({
      type: "bar", name: series.name, data: series.values, barGap: "10%", barCategoryGap: "22%",
      markLine: chart.limit && at === 0 ? {
        silent: true, symbol: "none", data: [{ xAxis: chart.limit }], lineStyle: { color: theme.text, type: "dashed" },
        label: { color: theme.text, formatter: UNITS[unit](chart.limit), position: "end" },
      } : undefined,
    }));
    return { option, height: top + 34 + each * chart.categories.length + (chart.limit ? 18 : 0) };
  }

  function points(chart, theme, width) {
    const names = chart.series.map((series) => series.name);
    const top = legendHeight(names, width) + 22;
    const option = common(theme, names);
    const place = (at) => decades(chart.series.flatMap((series) => series.points.map((point) => point[at])));
    const [x, y] = [place(0), place(1)];
    if (chart.hasDiagonal) {
      x.min = y.min = Math.min(x.min, y.min);
      x.max = y.max = Math.max(x.max, y.max);
    } else {
      const found = chart.series.flatMap((series) => series.points.map((point) => point[0]));
      [x.min, x.max] = [Math.min(...found), Math.max(...found)];
    }
    const isBinary = chart.x.unit === "bytes";
    option.grid = { left: 8, right: 36, top, bottom: 30, containLabel: true };
    option.xAxis = axis(theme, chart.x.unit, Object.assign({
      type: "log", logBase: isBinary ? 4 : 10, name: chart.x.name, nameLocation: "middle", nameGap: 28,
    }, x));
    option.yAxis = axis(theme, chart.y.unit, Object.assign({ type: "log", name: chart.y.name, nameLocation: "end" }, y));
    option.yAxis.nameTextStyle.align = "left";
    option.tooltip.trigger = "item";
    option.tooltip.formatter = (item) => {
      const [across, up, label] = item.value;
      return [label || item.seriesName, label ? item.seriesName : "", chart.x.name + " " + UNITS[chart.x.unit](across),
        chart.y.name + " " + UNITS[chart.y.unit](up)].filter(Boolean).map(escapeText).join("<br>");
    };
    option.series = chart.series.map((series, at) => ({
      type: series.isLine ? "line" : "scatter", name: series.name, data: series.points, symbol: SYMBOLS[at % SYMBOLS.length],
      symbolSize: series.isLine ? 7 : 9, lineStyle: { type: DASHES[at % DASHES.length], width: 2 }, emphasis: { scale: 1.6 },
      itemStyle: series.isLine ? undefined : { opacity: 0.85 },
    }));
    if (chart.hasDiagonal) {
      option.series.push({
        type: "line", name: "as modelled", data: [[x.min, y.min], [x.max, y.max]], symbol: "none", silent: true,
        tooltip: { show: false }, lineStyle: { color: theme.quiet, type: "dashed", width: 1 },
      });
    }
    return { option, height: chart.hasDiagonal ? Math.min(520, Math.max(340, width * 0.6)) : 320 };
  }

  function waterfall(chart, theme, width) {
    const option = common(theme, []);
    const steps = chart.steps;
    option.grid = { left: 8, right: 84, top: 8, bottom: 8, containLabel: true };
    option.xAxis = axis(theme, "ns", { type: "value", min: (range) => Math.min(0, range.min) });
    option.yAxis = axis(theme, null, {
      type: "category", inverse: true, data: steps.map((step) => step.name), splitLine: { show: false },
      axisTick: { show: false },
      axisLabel: { color: theme.text, fontSize: FONT, interval: 0, width: Math.min(300, width * 0.42), overflow: "break" },
    });
    option.tooltip.trigger = "item";
    option.tooltip.formatter = (item) => {
      const step = steps[item.dataIndex];
      return escapeText(step.name) + "<br>" + UNITS.ns(step.to - step.from) + "<br>up to here " + UNITS.ns(step.to);
    };
    const lower = steps.map((step) => Math.min(step.from, step.to));
    const color = (step) => theme.colors[step.isWhole ? 5 : step.to < step.from ? 2 : 0];
    // A bar stands on another that is not seen, from the axis to where the step begins.
    option.series = [
      { type: "bar", stack: "time", silent: true, data: lower, itemStyle: { color: "transparent" }, barWidth: 18 },
      {
        type: "bar", stack: "time", barWidth: 18,
        data: steps.map((step) => ({
          value: Math.abs(step.to - step.from),
          itemStyle: { color: color(step), decal: step.to < step.from
            ? { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [3, 3], rotation: -Math.PI / 4, color: theme.back } : undefined },
        })),
        label: {
          show: true, position: "right", color: theme.text, fontSize: FONT,
          formatter: (item) => UNITS.ns(steps[item.dataIndex].to - steps[item.dataIndex].from),
        },
      },
    ];
    return { option, height: 34 + 36 * steps.length };
  }

  const KINDS = { bars, points, waterfall };
  const drawn = [];

  function draw(held, theme, width) {
    const { option, height } = KINDS[held.chart.kind](held.chart, theme, width);
    if (held.instance) held.instance.dispose();
    held.place.style.height = height + "px";
    held.instance = echarts.init(held.place, null, { renderer: "svg", width, height });
    held.instance.setOption(option);
    const svg = held.place.querySelector("svg");
    if (svg) svg.setAttribute("aria-hidden", "true");
    held.width = width;
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawAll = () => drawn.forEach((held) =>
    draw(held, dark.matches ? THEMES.dark : THEMES.light, held.place.clientWidth || PRINT_WIDTH));

  // Arrow keys go through the values of the chart that has the focus.
  function onKey(held, event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      held.instance.dispatchAction({ type: "hideTip" });
    } else if (step) {
      const chart = held.chart;
      const places = chart.kind === "points"
        ? chart.series.flatMap((series, at) => series.points.map((_, index) => [at, index]))
        : (chart.categories || chart.steps).map((_, index) => [chart.kind === "waterfall" ? 1 : 0, index]);
      held.at = held.at === undefined ? 0 : (held.at + step + places.length) % places.length;
      const [seriesIndex, dataIndex] = places[held.at];
      held.instance.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
      event.preventDefault();
    }
  }

  for (const { id, chart } of JSON.parse(document.getElementById("charts").textContent)) {
    const place = document.querySelector('[data-chart="' + CSS.escape(id) + '"]');
    const held = { place, chart };
    place.addEventListener("keydown", (event) => onKey(held, event));
    place.addEventListener("blur", () => held.instance.dispatchAction({ type: "hideTip" }));
    drawn.push(held);
  }
  drawAll();
  dark.addEventListener("change", drawAll);
  let later = 0;
  window.addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => { if (drawn.some((held) => held.width !== held.place.clientWidth)) drawAll(); }, 150);
  });
  const closed = [];
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not([open])").forEach((details) => { details.open = true; closed.push(details); });
    drawn.forEach((held) => draw(held, THEMES.light, PRINT_WIDTH));
  });
  window.addEventListener("afterprint", () => {
    closed.splice(0).forEach((details) => { details.open = false; });
    drawAll();
  });
})();
