/* The charts, the gallery and the table of a report. Everything comes from the three JSON elements of the page; text enters
 * the page as text only (textContent). Charts are drawn when they come into view.
 * SPDX-License-Identifier: BSD-3-Clause */
"use strict";
(() => {
const read = id => JSON.parse(document.getElementById(id).textContent);
const data = read("data"), rows = read("rows"), gallery = read("curves");
const [ID, STATUS, BADNESS, OBJECTIVE, SECONDS, EVALUATIONS, NOTES, PLACE, IN_TABLE, FIRST] = Array(10).keys();
const N = data.parameters.length, OWN = FIRST + N, MESSAGE = OWN + data.columns.length, BINS = 24, CONVERGED = 1;
const badness = data.reduced ? "reduced chi-square" : "1 \u2212 R squared";
const byId = id => document.getElementById(id);
const hasCharts = typeof Chart === "function";

function add(parent, tag, text, attributes) {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    return parent.appendChild(element);
}
function short(x) { /* 4 digits */
    if (x === null || x === undefined) return "\u2013";
    const size = Math.abs(x);
    return x === 0 ? "0" : size >= 1e6 || size < 1e-3 ? x.toExponential(2).replace(/\.?0*e\+?/,
        "e") : String(+x.toPrecision(4));
}
const brief = x => typeof x === "string" ? x || "(none)" : short(x);
const label = spread => spread.unit ? `${spread.name} [${spread.unit}]` : spread.name;

/* Charts: made anew when the colours change. */
const charts = [];
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const series = e => colour("c" + e % 8);
const shapes = ["circle", "rect", "triangle", "rectRot", "star"];
const watch = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) draw(charts.find(chart => chart.box === entry.target));
}, {rootMargin: "300px"});

function draw(chart) {
    if (!chart || chart.drawn) return;
    Chart.defaults.color = colour("soft");
    Chart.defaults.borderColor = colour("line");
    Chart.defaults.font.family = "system-ui, sans-serif";
    const config = chart.make();
    /* Chart.js takes it that points which it need not parse are sorted: its axes and clicks look at no others. */
    for (const set of config.data.datasets) set.data.sort((a, b) => a.x - b.x);
    chart.drawn = new Chart(chart.canvas, config);
}
function addChart(parent, title, make, size) {
    if (!hasCharts) return null;
    const box = add(parent, "div", null, {class: "chart" + (size ? " " + size : "")});
    const chart = {box, make, drawn: null, canvas: add(box, "canvas", null, {role: "img", "aria-label": title})};
    charts.push(chart);
    watch.observe(box);
    return chart;
}
function dropCharts(parent) { /* those that are in the element */
    for (let i = charts.length; i-- > 0;)
        if (parent.contains(charts[i].box)) {
            watch.unobserve(charts[i].box);
            if (charts[i].drawn) charts[i].drawn.destroy();
            charts.splice(i, 1);
        }
    parent.replaceChildren();
}
function redraw(chart) { if (chart.drawn) { chart.drawn.destroy(); chart.drawn = null; draw(chart); } }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(redraw));
addEventListener("beforeprint", () => charts.forEach(draw));

function logTicks(scale) {
    const first = Math.floor(Math.log10(scale.min)), last = Math.ceil(Math.log10(scale.max)), n = last - first, ticks = [];
    for (let k = first; k <= last; k += Math.max(1, Math.round(n / 6)))
        for (const digit of n > 4 ? [1] : n > 2 ? [1, 3] : [1, 2, 5]) ticks.push({value: +`${digit}e${k}`});
    scale.ticks = ticks.filter(tick => tick.value >= scale.min && tick.value <= scale.max);
}
const axis = (title, log, more) => ({type: log ? "logarithmic" : "linear", title: {display: !!title, text: title},
    ticks: {maxTicksLimit: 6, maxRotation: 0, includeBounds: false, callback: short}, ...(log && {afterBuildTicks: logTicks}),
        ...more});
/* Of counts: whole numbers only. */
const counts = most => axis("", false, {min: 0, suggestedMax: most * 1.05,
    ticks: {maxTicksLimit: 6, precision: 0, callback: value => Number.isInteger(value) ? short(value) : ""}});
/* From the least to the largest, with a margin; logarithmic if it is wanted and worth it. */
function range(title, log, low, high) {
    log = log && low > 0 && high > 8 * low;
    if (!(high > low)) [low, high] = [low - Math.abs(low || 1) * 0.1, high + Math.abs(high || 1) * 0.1];
    const margin = log ? (high / low) ** 0.03 : (high - low) * 0.03;
    return axis(title, log, log ? {min: low / margin, max: high * margin} : {min: low - margin, max: high + margin});
}
/* Lines that a narrow chart has room for. */
const wrapped = title => title.split(" ").reduce((lines, word) => {
    const last = lines.length - 1;
    return last < 0 || lines[last].length + word.length > 38 ? [...lines, word]
        : [...lines.slice(0, last), lines[last] + " " + word];
}, []);
const frame = (title, x, y, more) => ({animation: false, maintainAspectRatio: false, parsing: false, scales: {x, y}, ...more,
    plugins: {legend: {display: false}, title: {display: !!title, text: wrapped(title), color: colour("fore")},
        ...(more && more.plugins)}});
const pairs = (x, y) => x.map((t, i) => ({x: t, y: y[i]}));

/* Bars drawn on true axes: edges, and how many lie between two. */
const barsPlugin = {id: "bars", beforeDatasetsDraw(chart) {
    const {ctx, scales: {x, y}} = chart, {edges, counts} = chart.options.bars || {};
    if (!edges) return;
    ctx.fillStyle = colour("c0");
    counts.forEach((count, i) => {
        const left = x.getPixelForValue(edges[i]), right = x.getPixelForValue(edges[i + 1]), top = y.getPixelForValue(count);
        ctx.fillRect(left, top, Math.max(right - left - 1, 1), y.getPixelForValue(0) - top);
    });
}};
/* Counts in cells, darker where there are more. */
const cellsPlugin = {id: "cells", beforeDatasetsDraw(chart) {
    const {ctx, scales: {x, y}} = chart, cells = chart.options.cells;
    if (!cells) return;
    const most = Math.log1p(Math.max(...cells.counts)), nx = cells.x.length - 1;
    ctx.save();
    ctx.fillStyle = colour("c0");
    cells.counts.forEach((count, i) => {
        if (!count) return;
        const c = i % nx, r = Math.floor(i / nx), left = x.getPixelForValue(cells.x[c]),
            top = y.getPixelForValue(cells.y[r + 1]);
        ctx.globalAlpha = 0.12 + 0.88 * Math.log1p(count) / most;
        ctx.fillRect(left, top, x.getPixelForValue(cells.x[c + 1]) - left + 0.5, y.getPixelForValue(cells.y[r]) - top + 0.5);
    });
    ctx.restore();
}};
const errorPlugin = {id: "errors", beforeDatasetsDraw(chart) {
    const {ctx, scales: {x, y}, chartArea: area} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    for (const set of chart.data.datasets)
        for (const point of set.data)
            if (set.bars && point.low !== null && point.high !== null) {
                const at = x.getPixelForValue(point.x);
                ctx.strokeStyle = set.borderColor;
                ctx.beginPath();
                ctx.moveTo(at, y.getPixelForValue(point.low));
                ctx.lineTo(at, y.getPixelForValue(point.high));
                ctx.stroke();
            }
    ctx.restore();
}};
/* A box for each category: quartiles, the median, and whiskers to the last points within 1.5 times the box's height. */
const boxesPlugin = {id: "boxes", beforeDatasetsDraw(chart) {
    const {ctx, scales: {x, y}} = chart;
    ctx.save();
    ctx.strokeStyle = colour("fore");
    ctx.fillStyle = colour("band");
    for (const [at, low, q25, median, q75, high] of chart.options.boxes || []) {
        const left = x.getPixelForValue(at - 0.3), width = x.getPixelForValue(at + 0.3) - left, middle = left + width / 2;
        const line = (x1, y1, x2, y2) => { ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke(); };
        const [bottom, first, half, third, top] = [low, q25, median, q75, high].map(value => y.getPixelForValue(value));
        line(middle, bottom, middle, first);
        line(middle, third, middle, top);
        ctx.fillRect(left, third, width, first - third);
        ctx.strokeRect(left, third, width, first - third);
        ctx.lineWidth = 2;
        line(left, half, left + width, half);
        ctx.lineWidth = 1;
    }
    ctx.restore();
}};
/* Areas between two curves of points that share their x. */
const bandsPlugin = {id: "bands", beforeDatasetsDraw(chart) {
    const {ctx, scales: {x, y}} = chart;
    ctx.save();
    ctx.globalAlpha = 0.25;
    for (const band of chart.options.bands || []) {
        const points = band.points.filter(point => point.every(Number.isFinite));
        ctx.fillStyle = colour(band.colour);
        ctx.beginPath();
        points.forEach(([at, low]) => ctx.lineTo(x.getPixelForValue(at), y.getPixelForValue(low)));
        points.reverse().forEach(([at, , high]) =>
            ctx.lineTo(x.getPixelForValue(at), y.getPixelForValue(high)));
        ctx.fill();
    }
    ctx.restore();
}};
if (hasCharts) Chart.register(barsPlugin, cellsPlugin, errorPlugin, bandsPlugin, boxesPlugin);

function edges(low, high, n, log) {
    if (!(high > low)) [low, high] = low > 0 ? [low * 0.9, low * 1.1] : low < 0 ? [low * 1.1, low * 0.9] : [-1, 1];
    return Array.from({length: n + 1}, (_, i) => log ? low * (high / low) ** (i / n) : low + (high - low) * i / n);
}
/* How many of n fits a bin of the histogram holds if parameter j has the population's distribution. */
function expected(spread, j, n) {
    const random = data.population && data.population.random.find(one => one.parameter === j);
    if (!random || !(random.deviation > 0) || !(spread.high > spread.low)) return [];
    const isLog = random.scale !== "lin", unit = random.scale === "log10" ? Math.LN10 : 1;
    return edges(spread.low, spread.high, 96, spread.log).filter(x => !isLog || x > 0).map(x => {
        const z = ((isLog ? Math.log(x) / unit : x) - random.mean) / random.deviation;
        const width = spread.log ? x * Math.log(spread.high / spread.low) / BINS : (spread.high - spread.low) / BINS;
        const density = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI) / random.deviation / (isLog ? x * unit : 1);
        return {x, y: n * density * width};
    });
}
function histogram(parent, spread, j) {
    if (spread.median === null) return;
    const at = edges(spread.low, spread.high, BINS, spread.log);
    const line = expected(spread, j, spread.bins.reduce((a, b) => a + b, 0));
    addChart(parent, `Distribution of ${spread.name}: median ${short(spread.median)}`, () => ({type: "scatter",
        data: {datasets: [{data: line, showLine: true, radius: 0, borderColor: colour("c1")}]},
        options: {...frame(label(spread) + (spread.cut ? ` (${short(spread.min)} to ${short(spread.max)} in all)` : ""),
            range("", spread.log, at[0], at[BINS]), counts(Math.max(...spread.bins))),
        bars: {edges: at, counts: spread.bins}}}));
}

/* What can be on an axis of the pairs. */
const axes = [...data.parameters.map((p, j) => ({name: p.name, at: FIRST + j, log: p.log, spread: p})),
    {name: badness, at: BADNESS, log: data.reduced}, {name: "objective", at: OBJECTIVE, log: false},
    {name: "seconds", at: SECONDS, log: true}, {name: "evaluations", at: EVALUATIONS, log: true},
    ...data.columns.map((column, c) => ({name: column.name, at: OWN + c, log: false, text: column.text}))];
/* The texts of a column in order, of which an axis has a place each: 10 after 9. */
const MOST_WORDS = 60;
function wordsOf(column) {
    const words = [...new Set(rows.map(row => row[column.at] || "(none)"))];
    return words.sort(new Intl.Collator("en", {numeric: true}).compare);
}
for (const column of axes) if (column.text) column.words = wordsOf(column);
const isDrawn = axis => !axis.text || axis.words.length <= MOST_WORDS;
const quantile = (sorted, share) => {
    const at = share * (sorted.length - 1), low = Math.floor(at);
    return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
};

/* The values that are not far outside, where the histogram's axis leaves some out. */
function within(values, {spread}) {
    if (!spread || !spread.cut) return values;
    const kept = values.filter(value => value >= spread.low && value <= spread.high);
    return kept.length ? kept : values;
}

function select(parent, text, words, value, change) {
    const element = add(add(parent, "label", text + " "), "select");
    words.forEach((word, i) => add(element, "option", word, {value: i}));
    element.value = value;
    element.addEventListener("change", () => change(+element.value));
    return element;
}

function showPairs() {
    const box = byId("pair-box"), bar = add(box, "div", null, {class: "bar"}), place = add(box, "div");
    const shown = axes.filter(isDrawn);
    let x = 0, y = Math.min(1, shown.length - 1);
    const show = () => {
        dropCharts(place);
        const a = shown[x], b = shown[y], fits = rows.filter(row => row[a.at] !== null && row[b.at] !== null);
        const placeOf = (axis, row) => axis.text ? axis.words.indexOf(row[axis.at] || "(none)") : row[axis.at];
        const binned = data.pairs.find(pair => pair.x === Math.min(x, y) && pair.y === Math.max(x, y));
        add(place, "p", data.all_rows ? "Each point is a fit; a click shows it."
            : "Points: the worst fits and some at random; a click shows one." + (binned ? " Squares: all converged fits." : ""),
            {class: "soft"});
        if (a.text && !b.text)
            add(place, "p", "Boxes: quartiles and median of three converged fits or more; whiskers end within " +
                "1.5 heights of the box.", {class: "soft"});
        const set = (good, at) => ({data: fits.filter(row => (row[STATUS] === CONVERGED) === good)
            .map(row => ({x: placeOf(a, row), y: placeOf(b, row), row})), backgroundColor: series(at),
            borderColor: series(at),
            pointStyle: good ? "circle" : "triangle", radius: !good ? 4 : binned ? 1.3 : 2.5,
                label: good ? "converged" : "failed"});
        addChart(place, `${a.name} and ${b.name} of the fits`, () => {
            const across = axis => {
                if (axis.text)
                    return {...range(axis.name, false, -0.5, axis.words.length - 0.5), afterBuildTicks: undefined,
                        ticks: {stepSize: 1, autoSkip: true, maxRotation: 60, callback: i => axis.words[i] ?? ""}};
                const values = within(fits.map(row => row[axis.at]), axis);
                if (binned) values.push(axis.spread.low, axis.spread.high);
                return range(axis.name, axis.log, values.reduce((x, y) => Math.min(x, y), Infinity),
                    values.reduce((x, y) => Math.max(x, y), -Infinity));
            };
            const options = frame("", across(a), across(b), {
                plugins: {legend: {display: true, labels: {usePointStyle: true, boxWidth: 7, boxHeight: 7}},
                    tooltip: {callbacks: {label: item => {
                    const row = item.raw.row;
                    return `${row[ID]}: ${brief(row[a.at])}, ${brief(row[b.at])} (${data.status[row[STATUS]]})`;
                }}}},
                onClick: (event, found) => { if (found.length) choose(found[0].element.$context.raw.row); }});
            if (binned) {
                const ax = edges(a.spread.low, a.spread.high, BINS, a.spread.log), bx = edges(b.spread.low, b.spread.high,
                    BINS, b.spread.log);
                const counts = [];
                for (let r = 0; r < BINS; r++)
                    for (let c = 0; c < BINS; c++) counts.push(binned.counts[x < y ? c * BINS + r : r * BINS + c]);
                options.cells = {x: ax, y: bx, counts};
            }
            if (a.text && !b.text)
                options.boxes = a.words.flatMap((word, at) => {
                    const values = fits.filter(row => row[STATUS] === CONVERGED && placeOf(a, row) === at)
                        .map(row => row[b.at]).sort((x, y) => x - y);
                    if (values.length < 3) return [];
                    const [q25, median, q75] = [0.25, 0.5, 0.75].map(share => quantile(values, share));
                    const reach = 1.5 * (q75 - q25);
                    return [[at, values.find(value => value >= q25 - reach), q25, median, q75,
                        values.findLast(value => value <= q75 + reach)]];
                });
            return {type: "scatter", data: {datasets: [set(true, binned ? 4 : 0), set(false, 1)]}, options};
        }, "tall");
    };
    const words = shown.map(axis => axis.name);
    select(bar, "across", words, x, value => { x = value; show(); });
    select(bar, "up", words, y, value => { y = value; show(); });
    show();
}

/* Ids that end like a well: of the plate before it (and a separator), row and column from 0. */
function wellOf(id) {
    const found = /^(?:(.*)[^A-Za-z0-9])?([A-Za-z]{1,2})(\d{1,2})$/.exec(id);
    if (!found || +found[3] < 1 || +found[3] > 48) return null;
    const row = [...found[2].toUpperCase()].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0) - 1;
    return row < 32 ? {plate: found[1] || "", row, column: +found[3] - 1} : null;
}
const rowName = row => (row < 26 ? "" : "A") + String.fromCharCode(65 + row % 26);
/* Robust ends of the colours: 2 and 98 % of the plates' values. */
function colourEnds(values) {
    const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
    return sorted.length ? [quantile(sorted, 0.02), quantile(sorted, 0.98)] : [0, 1];
}
function showPlate() {
    const wells = rows.map(row => ({row, well: wellOf(row[ID])})).filter(one => one.well);
    const isPlate = wells.length >= 3 && 2 * wells.length >= rows.length;
    for (const element of document.querySelectorAll("#plate, a[href='#plate']"))
        if (isPlate) element.hidden = false;
        else element.remove();
    if (!isPlate) return;
    const collator = new Intl.Collator("en", {numeric: true}), box = byId("plate-box"),
        plates = [...new Set(wells.map(one => one.well.plate))].sort(collator.compare),
        bar = add(box, "div", null, {class: "bar"}), legend = add(box, "p", null, {class: "legend"}),
        place = add(box, "div", null, {class: "plates"});
    const shown = [...axes, {name: "status", at: STATUS, text: true, words: data.status}]
        .filter(axis => !axis.text || axis.words.length <= 8 || axis.at === STATUS);
    const size = [[8, 12], [16, 24], [32, 48]].find(([high, wide]) =>
        wells.every(one => one.well.row < high && one.well.column < wide));
    const text = (axis, row) => axis.at === STATUS ? data.status[row[STATUS]] : axis.text ? row[axis.at] || "(none)"
        : short(row[axis.at]);
    const show = which => {
        const axis = shown[which], isLog = axis.log && wells.every(one => one.row[axis.at] === null || one.row[axis.at] > 0);
        const number = row => row[axis.at] === null ? NaN : isLog ? Math.log(row[axis.at]) : row[axis.at];
        const used = axis.text ? [...new Set(wells.map(one => text(axis, one.row)))].sort(collator.compare) : [];
        const [low, high] = axis.text ? [0, 1] : colourEnds(wells.map(one => number(one.row)));
        const step = row => Math.round(20 * Math.max(0, Math.min(1, high > low ? (number(row) - low) / (high - low) : 0.5)));
        const kind = row => axis.text ? "w" + used.indexOf(text(axis, row)) % 8 : Number.isFinite(number(row)) ? "h" + step(row)
            : "none";
        legend.replaceChildren();
        if (axis.text) used.forEach((word, i) => {
            add(legend, "span", "", {class: "key w" + i % 8});
            add(legend, "span", word);
        });
        else {
            const value = x => short(isLog ? Math.exp(x) : x);
            add(legend, "span", value(low));
            for (let i = 0; i <= 20; i += 2) add(legend, "span", "", {class: "key h" + i});
            add(legend, "span", `${value(high)} (2 and 98 % of the wells${isLog ? ", logarithmic" : ""})`);
        }
        place.replaceChildren();
        for (const plate of plates) {
            const block = add(place, "div", null, {class: "scroll"}), table = add(block, "table", null, {class: "plate"});
            if (plate) add(table, "caption", plate);
            const head = add(add(table, "thead"), "tr"), body = add(table, "tbody");
            add(head, "td");
            for (let c = 0; c < size[1]; c++) add(head, "th", c + 1, {scope: "col"});
            const at = new Map(wells.filter(one => one.well.plate === plate)
                .map(one => [one.well.row * size[1] + one.well.column, one.row]));
            for (let r = 0; r < size[0]; r++) {
                const line = add(body, "tr");
                add(line, "th", rowName(r), {scope: "row"});
                for (let c = 0; c < size[1]; c++) {
                    const cell = add(line, "td"), row = at.get(r * size[1] + c);
                    if (!row) continue;
                    const title = `${row[ID]}: ${text(axis, row)}` +
                        (row[STATUS] === CONVERGED ? "" : ` (${data.status[row[STATUS]]})`);
                    add(cell, "button", row[STATUS] === CONVERGED ? "" : "\u00d7", {class: "well " + kind(row), title,
                        "aria-label": title}).addEventListener("click", () => choose(row));
                }
            }
        }
    };
    select(bar, "colour", shown.map(axis => axis.name), 0, show);
    add(bar, "span", "A click shows the well; \u00d7: its fit did not converge." +
        (data.all_rows ? "" : " Only the fits in the table below are there."), {class: "soft"});
    show(0);
}

/* Measurements over predictions, with the line where they are equal; sets of points of a colour each. */
function addObserved(parent, title, sets, size) {
    const values = sets.flat().flatMap(point => [point.x, point.y]).filter(Number.isFinite);
    if (!values.length) return;
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    addChart(parent, title, () => ({type: "scatter", data: {datasets: [
        ...sets.map((points, e) => ({data: points, radius: 2, borderColor: series(e), backgroundColor: series(e),
            pointStyle: shapes[e % 5]})),
        {data: [{x: low, y: low}, {x: high, y: high}], showLine: true, radius: 0, borderColor: colour("soft"),
            borderDash: [4, 4]}]},
        options: frame("observed over predicted", axis("prediction", false), axis("measurement", false))}), size);
}

function showResiduals() {
    const box = byId("residual-box"), bar = add(box, "div", null, {class: "bar"}), place = add(box, "div", null,
        {class: "charts wide"});
    if (!data.residuals.length) {
        add(box, "p", data.model ? "There are none." : "There are none without the problem and its model.", {class: "soft"});
        return;
    }
    const end = data.residual_end, atEdge = (x, y) => ({x, y: Math.max(-end, Math.min(end, y))});
    const show = k => {
        dropCharts(place);
        const set = data.residuals[k];
        for (const [what, cloud] of [["time", set.time], ["prediction", set.prediction]])
            addChart(place, `Residuals over ${what}`, () => {
                const points = [];
                for (let i = 0; cloud.points && i < cloud.points.length; i += 2)
                    points.push(atEdge(cloud.points[i], cloud.points[i + 1]));
                const options = frame(`residuals over ${what}`, axis(what, cloud.log, {suggestedMin: cloud.low,
                    suggestedMax: cloud.high}),
                    axis("", false, {suggestedMin: -3, suggestedMax: 3}));
                if (cloud.counts)
                    options.cells = {x: edges(cloud.low, cloud.high, 40, cloud.log), y: edges(-end, end, 30, false),
                        counts: cloud.counts};
                if (cloud.counts) Object.assign(options.scales.y, {min: -end, max: end});
                return {type: "scatter", data: {datasets: [{data: points, backgroundColor: colour("c0"),
                    borderColor: colour("c0"), radius: 1.5}]}, options};
            }, "tall");
        addObserved(place, "Measurements over predictions", [set.observed.reduce((points, value, i) => {
            if (i % 2) points[points.length - 1].y = value;
            else points.push({x: value});
            return points;
        }, [])], "tall");
        addChart(place, "Quantiles of the residuals over those of a normal distribution", () => {
            const points = [];
            for (let i = 0; i < set.quantiles.length; i += 2)
                points.push(atEdge(set.quantiles[i], set.quantiles[i + 1]));
            return {type: "scatter", data: {datasets: [{data: points, backgroundColor: colour("c0"), borderColor: colour("c0"),
                radius: 2},
                {data: [{x: -3, y: -3}, {x: 3, y: 3}], showLine: true, radius: 0, borderColor: colour("soft"), borderDash: [4,
                    4]}]},
                options: frame("quantiles", axis("normal", false), axis("found", false))};
        }, "tall");
    };
    add(bar, "span",
        `Residuals are divided by sigma, or by the fit's residual error where there is none; of ${data.residual_datasets} ` +
        `dataset${data.residual_datasets === 1 ? "" : "s"}. Those beyond ${end} are drawn at the edge.`, {class: "soft"});
    if (data.residuals.length > 1) select(bar, "observable", data.residuals.map(set => set.observable), 0, show);
    show(0);
}

/* Each random parameter over a covariate. */
function showCovariates(box) {
    const {covariates, individuals, random} = data.population;
    if (!individuals.length) return;
    const bar = add(box, "div", null, {class: "bar"});
    const place = add(box, "div", null, {class: "charts wide"});
    const show = c => {
        dropCharts(place);
        random.forEach((one, i) => {
            const parameter = data.parameters[one.parameter], name = label(parameter);
            const points = individuals.map(row => ({x: row[c], y: row[covariates.length + i]}))
                .filter(point => point.x !== null && point.y !== null);
            addChart(place, `${parameter.name} of the datasets over ${covariates[c]}`, () => ({type: "scatter",
                data: {datasets: [{data: points, backgroundColor: colour("c0"), borderColor: colour("c0"), radius: 2}]},
                options: frame("", axis(covariates[c], false), axis(name, one.scale !== "lin"))}));
        });
    };
    if (covariates.length > 1) select(bar, "covariate", covariates, 0, show);
    show(0);
}
function showPopulation() {
    const {checks, replicates, datasets} = data.population;
    const box = byId("population-box"), bar = add(box, "div", null, {class: "bar"});
    const place = add(box, "div", null, {class: "charts wide"});
    if (!checks.length) return;
    const dots = (points, x, y) => ({data: points.map(point => ({x: point[x], y: point[y]})),
        backgroundColor: colour("c0"), borderColor: colour("c0"), radius: 1.5});
    const line = (points, name, dash) => ({data: points, showLine: true, radius: 0,
        borderColor: colour(name), borderDash: dash || []});
    const show = k => {
        dropCharts(place);
        const {bins, corrected, differs, points: flat} = checks[k], points = [];
        for (let i = 0; i < flat.length; i += 7) points.push(flat.slice(i, i + 7));
        const finite = (i, j) => points.filter(point => point[i] !== null && point[j] !== null);
        const how = `prediction-corrected${differs ? " by differences" : ""}: `;
        for (const [name, title, set, drawn] of [["Quantiles", "", bins, finite(0, 1)],
            ["Prediction-corrected quantiles", how, corrected, []]])
            addChart(place, `${name} of the measurements over time, and of replicates`, () => ({type: "scatter",
                data: {datasets: [...[1, 5, 9].map(at => line(set.map(bin => ({x: bin[0], y: bin[at]})), "fore",
                    at === 5 ? [] : [4, 4])), dots(drawn, 0, 1)]},
                options: {...frame(`${title}5, 50 and 95 % of the data (lines) and of replicates (areas)`,
                    axis("time", false), axis("", false)), bands: [1, 5, 9].map((at, q) => ({
                    colour: q === 1 ? "c1" : "c0", points: set.map(bin => [bin[0], bin[at + 1], bin[at + 3]])}))}}), "tall");
        for (const [name, at] of [["population", 2], ["individual", 3]])
            addChart(place, `Measurements over predictions (${name})`, () => {
                const kept = finite(at, 1), values = kept.flatMap(point => [point[1], point[at]]);
                const low = values.reduce((a, b) => Math.min(a, b), Infinity);
                const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
                return {type: "scatter", data: {datasets: [dots(kept, at, 1),
                    line([{x: low, y: low}, {x: high, y: high}], "soft", [4, 4])]},
                options: frame("", axis(`prediction (${name})`, false), axis("measurement", false))};
            }, "tall");
        const scored = finite(0, 6).length ? ["NPDE", 6] : ["NPD", 4];
        for (const [what, of] of [["CWRES", 5], scored])
            for (const [name, at] of [["time", 0], ["prediction (population)", 2]])
                addChart(place, `${what} over ${name}`, () => ({type: "scatter",
                    data: {datasets: [dots(finite(at, of), at, of)]},
                    options: frame(what, axis(name, false), axis("", false, {suggestedMin: -3, suggestedMax: 3}))}), "tall");
    };
    add(bar, "span", `A visual predictive check: ${replicates} replicates of ${datasets} datasets; areas have 90 % of ` +
        "their quantiles. Prediction-corrected values are multiplied by the median prediction of their time over their " +
        "own. CWRES: conditional weighted residuals. NPD: normal deviates of the measurements' ranks among their " +
        "replicates; NPDE: the same after decorrelation, where there are 8 replicates for each measurement of a dataset.",
        {class: "soft"});
    if (checks.length > 1) select(bar, "observable", checks.map(set => set.observable), 0, show);
    show(0);
    showCovariates(box);
}

/* The panels above each other have the same width of labels. */
const LEFT = {afterFit: scale => { scale.width = 52; }};

/* Data and curve of observable k of a dataset in the gallery, or its residuals. */
function fitChart(parent, fit, k, title, size) {
    return addChart(parent, `Data and curve of ${fit.id}`, () => {
        const sets = [];
        fit.experiments.forEach((experiment, e) => {
            const points = experiment.data.filter(d => d[0] === k).map(d => ({x: d[1], y: d[2], low: d[3], high: d[4]}));
            sets.push({data: points, bars: true, borderColor: series(e), backgroundColor: series(e), pointStyle: shapes[e % 5],
                radius: size ? 3 : 2, label: experiment.name || "data"});
            if (experiment.curve[k])
                sets.push({data: pairs(experiment.time, experiment.curve[k]), showLine: true, radius: 0, borderWidth: 1.8,
                    borderColor: series(e), label: ""});
            if (experiment.typical && experiment.typical[k])
                sets.push({data: pairs(experiment.time, experiment.typical[k]), showLine: true, radius: 0,
                    borderWidth: 1.2, borderColor: series(e), borderDash: [4, 4], label: ""});
        });
        return {type: "scatter", data: {datasets: sets}, options: frame(title, axis("", fit.log),
            axis("", false, size ? LEFT : {}), {plugins: {legend: {display: !!size && fit.experiments.length > 1,
                labels: {usePointStyle: true, boxWidth: 7, boxHeight: 7, filter: item => item.text !== ""}}},
                    events: size ? ["mousemove", "mouseout"] : []})};
    }, size);
}
function residualChart(parent, fit, k) {
    addChart(parent, `Residuals of ${fit.id}`, () => ({type: "scatter", data: {datasets: fit.experiments.map((experiment,
        e) => ({
        data: experiment.data.filter(d => d[0] === k && d[5] !== null).map(d => ({x: d[1], y: d[5]})),
        backgroundColor: series(e), borderColor: series(e), pointStyle: shapes[e % 5]}))},
        options: frame("residuals", axis("time", fit.log), axis("", false, {suggestedMin: -2, suggestedMax: 2, ...LEFT,
            ticks: {maxTicksLimit: 4}}))}), "low");
}

const notesOf = row => data.notes.filter((name, bit) => name && row[NOTES] >>> bit & 1).join(", ");

function addTable(parent, caption, heads, lines) {
    const table = add(add(parent, "div", null, {class: "scroll"}), "table");
    add(table, "caption", caption);
    const head = add(add(table, "thead"), "tr"), body = add(table, "tbody");
    heads.forEach(text => add(head, "th", text, {scope: "col"}));
    for (const line of lines) {
        const tr = add(body, "tr");
        line.forEach(cell => typeof cell === "string" ? add(tr, "td", cell) : add(tr, "td", short(cell), {class: "n"}));
    }
}
/* Experiments with initial times and covariates, and their doses. */
function showConditions(box, fit) {
    const named = fit.experiments.some(experiment => experiment.name), first = named ? ["experiment"] : [];
    const cells = experiment => named ? [experiment.name] : [];
    addTable(box, fit.experiments.length > 1 ? "Experiments" : "Conditions", [...first, "initial time", ...data.covariates,
        "measurements", "doses"], fit.experiments.map(experiment => [...cells(experiment), experiment.t0,
        ...experiment.covariates, experiment.data.length, experiment.n_dose]));
    const doses = fit.experiments.flatMap(experiment => experiment.doses.map(dose => [experiment, dose]));
    if (!doses.length) return;
    const given = dose => dose === 0 || dose === null ? "" : dose === -1 ? "the model's" : dose;
    addTable(box, fit.experiments.some(experiment => experiment.n_dose > experiment.doses.length)
        ? "Doses, the first ones" : "Doses", [...first, "time", "amount", "into", "duration", "rate", "interval", "count"],
        doses.map(([experiment, dose]) => [...cells(experiment), dose[0], dose[1], data.targets[dose[6]] ?? "",
            given(dose[2]), given(dose[3]), given(dose[4]), dose[5]]));
}

const quote = word => /^[\w./:@%+=-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

function showKept(box, fit) {
    const names = data.parameters.map(p => p.name);
    if (fit.starts && fit.starts.length > 1) waterfall();
    function waterfall() {
        const ends = fit.starts.filter(start => start[0] !== null).sort((a, b) => a[0] - b[0]);
        if (ends.length < 2) return;
        add(box, "h3", "Starts: objectives where they ended, in order");
        const set = (good, at) => ({data: ends.map((end, i) => ({x: i + 1, y: end[0], good: end[1] === 1}))
            .filter(point => point.good === good), radius: 3, borderColor: series(at), backgroundColor: series(at),
            pointStyle: good ? "circle" : "triangle", label: good ? "converged" : "failed"});
        addChart(add(box, "div", null, {class: "charts wide"}), `Waterfall of the starts of ${fit.id}`, () => ({type: "scatter",
            data: {datasets: [set(true, 0), set(false, 1)]}, options: frame("", {...counts(ends.length),
                title: {display: true, text: "place of the start"}},
                range("objective", true, ends[0][0], ends[ends.length - 1][0]), {plugins: {legend: {display: true,
                    labels: {usePointStyle: true, boxWidth: 7, boxHeight: 7}}}})}));
    }
    for (const [key, title, take] of [["profiles", "Profiles: the objective above its least value", profile],
                                      ["bootstrap", "Bootstrap replicates", replicate]]) {
        if (!fit[key] || !fit[key].length) continue;
        add(box, "h3", title);
        const place = add(box, "div", null, {class: "charts"});
        names.forEach((name, j) => take(place, name, j));
    }
    function profile(place, name, j) {
        const best = {x: fit.parameters[j], y: 0};
        const points = fit.profiles.filter(p => p[0] === j && p[2] !== null).map(p => ({x: p[1], y: p[2] - fit.objective}));
        if (points.length)
            addChart(place, `Profile of ${name}`, () => ({type: "scatter", data: {datasets: [
                {data: [best], radius: 5, pointStyle: "rectRot", backgroundColor: colour("c1")},
                {data: [...points, best].sort((a, b) => a.x - b.x), showLine: true, borderColor: colour("c0"),
                    backgroundColor: colour("c0"), radius: 2}]}, options: frame(name, axis("", false), axis("", false))}));
    }
    function replicate(place, name, j) {
        const values = fit.bootstrap.map(p => p[j]).filter(value => value !== null);
        if (!values.length) return;
        const low = Math.min(...values), high = Math.max(...values), at = edges(low, high, BINS, false),
            bins = Array(BINS).fill(0);
        for (const value of values) bins[Math.min(BINS - 1, Math.floor((value - at[0]) / (at[BINS] - at[0]) * BINS))]++;
        addChart(place, `Bootstrap replicates of ${name}`, () => ({type: "scatter", data: {datasets: [{data: []}]},
            options: {...frame(name, axis("", false, {min: at[0], max: at[BINS]}), counts(Math.max(...bins))),
                bars: {edges: at, counts: bins}}}));
    }
}

/* A fit that was clicked on: its panel, or the command that draws it. */
function choose(row, quiet) {
    const box = byId("dataset-box"), head = byId("dataset-head"), fit = gallery[row[PLACE]];
    dropCharts(box);
    head.textContent = "Dataset " + row[ID];
    const facts = [data.status[row[STATUS]], `${badness} ${short(row[BADNESS])}`, `objective ${short(row[OBJECTIVE])}`,
        `${row[EVALUATIONS]} evaluations`, `${short(row[SECONDS])} s`];
    add(box, "p", facts.join(" \u00b7 "));
    const notes = notesOf(row);
    if (notes) add(box, "p", "Notes: " + notes, {class: "soft"});
    if (row[MESSAGE]) add(box, "p", row[MESSAGE], {class: "note"});
    const command = `stiffit plot ${quote(data.file)} --id ${quote(row[ID])}`;
    const line = add(box, "p", fit ? "The same in a terminal: " : "It is not in the gallery. Its plot: ");
    add(line, "code", command);
    const table = add(add(add(box, "div", null, {class: "scroll"}), "table"), "tbody");
    data.columns.forEach((column, c) => {
        const line = add(table, "tr");
        add(line, "th", column.name, {scope: "row"});
        add(line, "td", brief(row[OWN + c]), {class: column.text ? "" : "n"});
        if (fit) add(line, "td");
    });
    data.parameters.forEach((parameter, j) => {
        const line = add(table, "tr"), error = fit && fit.errors[j];
        add(line, "th", label(parameter), {scope: "row"});
        add(line, "td", short(row[FIRST + j]), {class: "n"});
        if (fit) add(line, "td", error === null ? "" : "\u00b1 " + short(error), {class: "n"});
    });
    if (fit) {
        if (fit.reason) add(box, "p", "No curve: " + fit.reason, {class: "note"});
        if (fit.steady) add(box, "p", `${fit.steady} measurements of the steady state are not drawn.`, {class: "soft"});
        const place = add(box, "div");
        fit.observables.forEach((name, k) => {
            const panel = add(place, "div", null, {class: "panel"}), curve = add(panel, "div");
            fitChart(curve, fit, k, name, "large");
            residualChart(curve, fit, k);
            addObserved(panel, `Measurements over predictions of ${fit.id}`, fit.experiments.map(experiment => experiment.data
                .filter(d => d[0] === k && d[7] !== null).map(d => ({x: d[7], y: d[2]}))), "tall");
        });
        showConditions(box, fit);
        showKept(box, fit);
    }
    if (!quiet) { head.scrollIntoView(); head.focus({preventScroll: true}); }
}

const rowOf = new Map(rows.filter(row => row[PLACE] >= 0).map(row => [row[PLACE], row]));

function showGallery() {
    const box = byId("gallery-box"), bar = add(box, "div", null, {class: "bar"}), place = add(box, "div", null,
        {class: "charts"});
    if (!gallery.length) {
        add(box, "p", data.model ? "It is empty." : "It needs the problem and its model.", {class: "soft"});
        return;
    }
    const used = data.groups.map((name, bit) => bit).filter(bit => gallery.some(fit => fit.groups >> bit & 1));
    const all = gallery.map((fit, i) => i), foot = add(box, "p", null, {class: "bar"});
    let list = all, observable = 0, shown = 0;
    const more = n => {
        for (const i of list.slice(shown, shown + n)) {
            const fit = gallery[i], card = add(place, "div", null, {class: "card"}),
                k = fit.observables.indexOf(names[observable]);
            const button = add(card, "button", fit.status === CONVERGED ? `${short(fit.badness)} \u00b7 ${fit.id}`
                : `${data.status[fit.status]} \u00b7 ${fit.id}`, {class: "pick", title: fit.id});
            button.addEventListener("click", () => choose(rowOf.get(i)));
            if (fit.experiments.some(experiment => experiment.data.length)) fitChart(card, fit, k < 0 ? 0 : k, "", "");
            else add(card, "p", fit.message || fit.reason, {class: "note"});
        }
        shown = Math.min(shown + n, list.length);
        foot.replaceChildren();
        if (shown < list.length) add(foot, "button", `${list.length - shown} more`).addEventListener("click", () => more(60));
    };
    const order = (a, b) => (gallery[b].badness ?? Infinity) - (gallery[a].badness ?? Infinity);
    const show = bit => {
        list = (bit < 0 ? all.slice() : all.filter(i => gallery[i].groups >> bit & 1)).sort(order);
        if (bit >= 0 && data.groups[bit] === "best") list.reverse();
        shown = 0;
        dropCharts(place);
        more(12);
    };
    const names = [...new Set(gallery.flatMap(fit => fit.observables))];
    let bit = -1;
    select(bar, "fits", ["all", ...used.map(at => data.groups[at])], 0,
        value => { bit = value ? used[value - 1] : -1; show(bit); });
    if (names.length > 1) select(bar, "observable", names, 0, value => { observable = value; show(bit); });
    add(bar, "span", `${gallery.length} datasets; the worst come first. The number is ${badness}.`, {class: "soft"});
    show(bit);
    choose(rowOf.get(list[0]), true);
}

function showTable() {
    const box = byId("table-box"), heads = ["id", "status", badness, "objective", "seconds", "evaluations",
        ...data.parameters.map(label), ...data.columns.map(column => column.name), "notes", "message"];
    const cell = [ID, STATUS, BADNESS, OBJECTIVE, SECONDS, EVALUATIONS, ...data.parameters.map((_, j) => FIRST + j),
        ...data.columns.map((_, c) => OWN + c), NOTES, MESSAGE];
    const list = rows.filter(row => row[IN_TABLE]);
    let by = 2, down = true, words = "", page = 0, n_page = 100, kept = [];
    box.replaceChildren();
    const bar = add(box, "div", null, {class: "bar"}), filter = add(add(bar, "label", "filter "), "input", null,
        {type: "search", placeholder: "id, status, note or text"});
    const bits = data.notes.map((name, bit) => bit).filter(bit => data.notes[bit] && list.some(row => row[NOTES] >>> bit & 1));
    const noted = bits.length ? select(bar, "note", ["any or none", ...bits.map(bit => data.notes[bit])], 0, () => show()) : null;
    const said = add(bar, "span", "", {class: "soft", role: "status"});
    const back = add(bar, "button", "\u2039 previous"), next = add(bar, "button", "next \u203a");
    const table = add(add(box, "div", null, {class: "scroll"}), "table"), line = add(add(table, "thead"), "tr"),
        body = add(table, "tbody");
    const value = row => by === 1 ? data.status[row[STATUS]] : cell[by] === NOTES ? notesOf(row) : row[cell[by]] ?? (cell[by] === MESSAGE ? "" : null);
    const compare = (a, b) => {
        const x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null) === 0 ? 0 : x === null ? 1 : -1;
        const order = typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y;
        return down ? -order : order;
    };
    const fill = () => {
        body.replaceChildren();
        for (const row of kept.slice(page * n_page, (page + 1) * n_page)) {
            const tr = add(body, "tr");
            cell.forEach((at, i) => {
                if (i === 0) add(add(tr, "td", null, {class: row[ID].length > 24 ? "" : "id"}), "button", row[ID],
                    {class: "pick"}).addEventListener("click", () => choose(row));
                else if (i === 1) add(tr, "td", data.status[row[at]]);
                else if (at === NOTES) add(tr, "td", notesOf(row));
                else if (typeof row[at] !== "number" && at >= OWN) add(tr, "td", row[at] ?? "");
                else add(tr, "td", short(row[at]), {class: "n"});
            });
        }
        const from = kept.length ? page * n_page + 1 : 0;
        said.textContent = `${from} to ${Math.min((page + 1) * n_page, kept.length)} of ${kept.length} rows` +
            (data.all_rows ? "" : ` (the worst of ${data.fits})`);
        back.disabled = page === 0;
        next.disabled = (page + 1) * n_page >= kept.length;
    };
    const show = () => {
        const texts = row => data.columns.map((column, c) => column.text ? row[OWN + c] : "").join(" ");
        const text = row => [row[ID], data.status[row[STATUS]], texts(row), notesOf(row), row[MESSAGE] ?? ""].join(" ").toLowerCase();
        const bit = noted && +noted.value ? bits[noted.value - 1] : -1;
        kept = list.filter(row => (!words || text(row).includes(words)) && (bit < 0 || row[NOTES] >>> bit & 1));
        kept.sort(compare);
        page = 0;
        [...line.children].forEach((th, i) => th.setAttribute("aria-sort",
            i !== by ? "none" : down ? "descending" : "ascending"));
        [...line.children].forEach((th,
            i) => { th.firstChild.textContent = heads[i] + (i !== by ? "" : down ? "\u00a0\u25be" : "\u00a0\u25b4"); });
        fill();
    };
    heads.forEach((head, i) => add(add(line, "th", null, {scope: "col"}), "button", head).addEventListener("click", () => {
        down = i === by ? !down : i > 1;
        by = i;
        show();
    }));
    filter.addEventListener("input", () => { words = filter.value.toLowerCase(); show(); });
    /* A note of the table of health leads to the rows that have it. */
    for (const line of document.querySelectorAll("#notes tbody tr")) {
        const name = line.cells[0], place = bits.findIndex(bit => data.notes[bit] === name.textContent);
        if (place < 0) continue;
        const link = add(Object.assign(name, {textContent: ""}), "button", data.notes[bits[place]], {class: "pick"});
        link.addEventListener("click", () => {
            noted.value = place + 1;
            filter.value = words = "";
            show();
            byId("fits").scrollIntoView();
            noted.focus({preventScroll: true});
        });
    }
    back.addEventListener("click", () => { page--; fill(); });
    next.addEventListener("click", () => { page++; fill(); });
    show();
}

if (hasCharts) {
    document.documentElement.classList.add("on");
    if (data.population) showPopulation();
    if (data.fits === 1) { /* what is about many fits says nothing of one */
        for (const id of ["pairs", "plate", "quality", "gallery"]) {
            byId(id).remove();
            document.querySelector(`nav a[href="#${id}"]`).remove();
        }
        byId("health").after(byId("dataset"));
    } else {
        data.parameters.forEach((spread, j) => histogram(byId("parameter-charts"), spread, j));
        data.quality.forEach(spread => histogram(byId("quality-charts"), spread));
        data.costs.forEach(spread => histogram(byId("cost-charts"), spread));
        showPairs();
        showPlate();
    }
    showResiduals();
    if (data.fits !== 1) showGallery();
    else if (rows.length) choose(rows[0], true);
}
showTable();
})();
