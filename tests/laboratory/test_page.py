"""What the page offers beside a line and its dots: stories, maps, names, ways back, a phone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from laboratory.browsing import (
    browsing,
    complaints,
    dots_are_there,
    downloaded,
    expect,
    line_is_there,
    setting,
    target_is_read,
    traces,
    until,
)

from giantstep.laboratory.launch import Lab

pytestmark = pytest.mark.slow
SCREENS = [(1600, 1000), (1280, 720)]
STORIES = ["staircase", "wall", "kernel", "outlier", "repetition", "spike"]
#: Where an element is, from the top left of the window.
PLACE = "(id) => document.querySelector(id).getBoundingClientRect().toJSON()"


def place(page: Any, selector: str) -> dict[str, float]:
    return page.evaluate(PLACE, selector)


def is_in_sight(page: Any, selector: str) -> bool:
    box, size = place(page, selector), page.viewport_size
    return box["top"] >= 0 and box["bottom"] <= size["height"] and box["right"] <= size["width"]


def test_the_first_screen_and_a_tour_that_covers_nothing(chromium: Any, lab: Lab) -> None:
    with browsing(chromium, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(lab.url)
        dots_are_there(page)
        page.wait_for_selector("body[data-played=once]")
        page.wait_for_selector(".staircase")
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            for part in ("#target", ".staircase", "#plot", "#neuron-plot", "#story-list"):
                until(page, "() => globalThis.scrollY === 0")
                assert is_in_sight(page, part), f"{part} at {width} x {height}"
        for _ in range(4):
            tour, shown = place(page, "#tour"), place(page, "section.shown")
            assert tour["bottom"] <= max(shown["top"], 0) or tour["top"] >= shown["bottom"]
            page.click("#tour-next")
        expect(page.locator("#tour")).to_be_hidden()


def test_stories_set_the_page_up(page: Any) -> None:
    for story in STORIES:
        page.click(f"[data-story={story}]")
        assert page.locator(f"[data-story={story}] svg path").count() == 2
        text = page.inner_text("#story-text")
        assert text.count(". ") + text.endswith(".") == 3
        # The lab takes the question: what it asks is the command at the foot of the page.
        learner, target = page.input_value("#learner"), page.input_value("#target")
        expect(page.locator("#command")).to_contain_text(f"compare {learner} --target")
        expect(page.locator("#command")).to_contain_text(target)
        assert page.get_attribute(f"[data-story={story}]", "aria-pressed") == "true"
        assert not page.locator("#said.bad").count(), page.inner_text("#said")
    for name, pinned in [("spike", "without a spike"), ("repetition", "each sample once h1")]:
        page.click(f"[data-story={name}]")
        line_is_there(page)
        until(
            page,
            "(name) => document.getElementById('plot').data.find((t) => t.name === name)?.y.length",
            pinned,
        )
    # A kernel has no neurons: the cloud is gone, and the plot follows the light of the room.
    page.click("[data-story=spike]")
    line_is_there(page)
    until(page, "document.getElementById('plot').data?.length")
    ink = "document.getElementById('plot').layout.font.color"
    for scheme, colour in [("dark", "#e7ecef"), ("light", "#1d2730")]:
        page.emulate_media(color_scheme=scheme)
        until(page, f"{ink} === '{colour}'")
    assert not complaints(page)
    page.click("[data-story=staircase]")
    line_is_there(page)
    # Another learner is another story.
    page.select_option("#learner", "random-features")
    expect(page.locator("#story-text")).to_be_hidden()
    expect(page.locator("[data-story=staircase]")).to_have_attribute("aria-pressed", "false")


def test_an_old_line_is_dimmed_and_old_messages_go(page: Any) -> None:
    page.select_option("#learner", "random-features")
    line_is_there(page)
    moved = page.evaluate(
        """() => {
          const slider = document.querySelector(".control[data-name=ridge] input[type=range]");
          slider.value = Number(slider.value) + 0.5;
          slider.dispatchEvent(new Event("change"));
          const plot = document.getElementById("plot");
          return [plot.className.includes("stale"), document.getElementById("said").textContent];
        }"""
    )
    assert moved[0]
    assert "dimmed" in moved[1]
    assert "may take 600 s" in moved[1]
    line_is_there(page)
    expect(page.locator("#plot.stale")).to_have_count(0)
    # A learner of trees refuses a function of directions, and says what would fit.
    page.select_option("#learner", "three-layer")
    expect(page.locator("#said.bad")).to_contain_text("tree")
    assert page.locator("#notes li").count() == 0
    assert page.evaluate("document.getElementById('plot').data") is None
    page.click("#fits")
    expect(page.locator("#target")).to_have_value("tree-he2")
    expect(page.locator("#command")).to_contain_text("three-layer --target tree-he2")
    expect(page.locator("#fits")).to_be_hidden()
    assert not page.locator("#said.bad").count()
    # Its line takes long: the next test begins with another.
    page.click("[data-story=staircase]")
    line_is_there(page)


def test_words_of_the_field_are_explained(page: Any) -> None:
    page.fill("#target", "sign(h1*h2)")
    word = page.locator("#class .badge.easy")
    word.hover()
    expect(page.locator("#tip")).to_contain_text("threshold")
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()
    page.click("#facts > summary")
    page.locator("#facts dt .term", has_text="leap").focus()
    expect(page.locator("#tip")).to_contain_text("new direction")
    page.fill("#target", "He3(h1)")
    expect(page.locator("#facts dd sup").first).to_be_visible()
    page.click("#facts > summary")


def test_what_was_said_of_the_target_before_is_dimmed(page: Any) -> None:
    held: list[Any] = []
    page.route("**/explain", lambda request: held.append(request))
    page.fill("#target", "h1*h2*h3")
    opacity = "(id) => getComputedStyle(document.querySelector(id)).opacity"
    while not held:
        page.wait_for_timeout(20)
    assert [page.evaluate(opacity, box) for box in ("#class", "#climb")] == ["0.5", "0.5"]
    for request in held:
        request.continue_()
    page.unroute("**/explain")
    until(page, "!document.querySelector('#class').ariaBusy")
    assert page.evaluate(opacity, "#class") == "1"


def test_scales_pins_and_the_way_back(page: Any) -> None:
    page.select_option("#learner", "random-features")
    page.fill("#target", "h1")
    target_is_read(page, "h1")
    line_is_there(page)
    assert page.evaluate("document.getElementById('plot').layout.xaxis.type") == "log"
    ticks = page.evaluate("document.getElementById('plot').layout.xaxis.ticktext")
    assert ticks == ["0.5", "1", "2", "5", "10"]
    page.uncheck("#log-x")
    page.check("#log-y")
    shape = "(() => { const l = document.getElementById('plot').layout; "
    assert page.evaluate(shape + "return [l.xaxis.type, l.yaxis.type]; })()") == ["linear", "log"]
    # Back: the same page, as it was before.
    page.evaluate("globalThis.isSamePage = true")
    page.go_back()
    expect(page.locator("#log-y")).not_to_be_checked()
    page.go_back()
    line_is_there(page)
    expect(page.locator("#log-x")).to_be_checked()
    assert page.evaluate("globalThis.isSamePage")
    # Two targets, then two learners: names say what differs.
    page.click("#pin")
    page.fill("#target", "h1*h2")
    until(page, "document.getElementById('plot').data.some((t) => t.name === 'theory h1*h2')")
    expect(page.locator("#pins input")).to_have_attribute("placeholder", "h1")
    # What is pinned is not drawn once more as a line of before.
    assert "before" not in page.evaluate("document.getElementById('plot').data.map((t) => t.name)")
    page.fill("#target", "h1")
    page.select_option("#learner", "kernel")
    until(page, "document.getElementById('plot').data?.some((t) => t.name === 'theory kernel')")
    assert "random-features" in page.evaluate(
        "document.getElementById('plot').data.map((t) => t.name)"
    )
    page.click("#pins button")
    expect(page.locator("#pins li")).to_have_count(0)


def test_two_swept_settings_are_a_map(page: Any) -> None:
    page.fill("#target", "h1")
    page.select_option("#learner", "random-features")
    page.fill(setting("dim"), "40")
    page.select_option("#second", "ridge")
    page.fill("#range", "1d:2d:2")
    page.fill("#secondRange", "0.1,1")
    page.fill("#seeds", "2")
    page.keyboard.press("Tab")
    expect(page.locator("#command")).to_contain_text("--ridge 0.1,1")
    line_is_there(page)
    page.click("#run")
    dots_are_there(page)
    kinds = page.evaluate("document.getElementById('plot').data.map((t) => t.type)")
    assert kinds == ["contour", "scatter"]
    # A setting that is swept can be read: its row is not faded.
    row = f"document.querySelector('{setting('ridge')}').closest('.row')"
    assert page.evaluate(f"getComputedStyle({row}).opacity") == "1"
    rows = page.evaluate("document.getElementById('plot').data[0].z")
    assert [len(row) for row in rows] == [41, 41]
    assert len(traces(page, "simulated")) == 4
    table = downloaded(page, ".take[data-plot=plot] >> text=CSV").decode()
    assert sum(line.startswith("simulated,test_error,") for line in table.splitlines()) == 4
    page.select_option("#second", "")
    line_is_there(page)


def test_every_other_control_does_what_it_says(page: Any) -> None:
    page.select_option("#learner", "giant-step")
    page.fill(setting("dim"), "60")
    page.keyboard.press("Tab")
    # A known target, noise and another law of inputs reach the question.
    page.click("#facts > summary")
    page.select_option("#catalogue", label=page.inner_text("#catalogue option:nth-child(2)"))
    expect(page.locator("#catalogue")).to_have_value("")
    page.fill("#target", "h1 + h1*h2")
    page.fill("#noise", "0.25")
    page.fill("#inputs", "sphere")
    page.keyboard.press("Tab")
    expect(page.locator("#command")).to_contain_text("--noise 0.25 --inputs sphere")
    expect(page.locator("#command")).to_contain_text("--target 'h1 + h1*h2'")
    page.fill("#inputs", "gaussian")
    page.fill("#noise", "0")
    page.keyboard.press("Tab")
    line_is_there(page)
    page.click("#facts > summary")
    # Lines of before stay until they are cleared.
    page.fill(setting("step_size"), "1.5")
    page.keyboard.press("Tab")
    line_is_there(page)
    page.wait_for_selector("body[data-neurons=done]")
    until(page, "document.getElementById('plot').data.some((t) => t.name === 'before')")
    page.click("#clear")
    until(page, "document.getElementById('plot').data.every((t) => t.name !== 'before')")
    # The cloud at another step, in another plane; played, it ends at its last step.
    page.locator("#step").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#step-shown")).to_have_text("1")
    page.select_option("#plane-x", "1")
    title = "document.getElementById('neuron-plot').layout.xaxis.title.text"
    until(page, f"{title} === 'cosine with h<sub>2</sub>'")
    page.click("#play")
    expect(page.locator("#step-shown")).to_have_text("3")
    # Another spectrum, and another step size for it.
    page.locator("#spectra").scroll_into_view_if_needed()
    page.wait_for_selector("body[data-spectrum=done]")
    page.fill("#spectrum-controls .control[data-name=dim] input[type=text]", "60")
    page.select_option("#spectrum-of", "features")
    page.wait_for_selector("body[data-spectrum=done]")
    title = "document.getElementById('spectrum-plot').layout.xaxis.title.text"
    assert page.evaluate(title) == "eigenvalue of the features"
    page.select_option("#spectrum-of", "weights")
    page.wait_for_selector("body[data-spectrum=done]")
    said = page.inner_text("#spectrum-said")
    page.fill("#spectrum-controls .control[data-name=step_size] input[type=text]", "4")
    page.keyboard.press("Tab")
    page.wait_for_selector("body[data-spectrum=done]")
    assert page.inner_text("#spectrum-said") != said
    # Night and day by hand, and the tour from its button.
    for paper in ("dark", "light"):
        page.click("#theme")
        assert page.evaluate("document.documentElement.dataset.theme") == paper
    page.click("#tour-start")
    expect(page.locator("#tour-title")).to_contain_text("1 of 4")
    page.click("#tour-skip")
    expect(page.locator("#tour")).to_be_hidden()


def test_a_state_opens_for_whoever_has_its_file(chromium: Any, page: Any, lab: Lab, tmp_path: Path):
    page.fill("#target", "sin(h1)")
    target_is_read(page, "sin(h1)")
    page.select_option("#learner", "kernel")
    line_is_there(page)
    saved = downloaded(page, "#save-state")
    assert "token" not in saved.decode()
    taken, wrong = tmp_path / "lab.json", tmp_path / "other.json"
    taken.write_bytes(saved)
    wrong.write_text(json.dumps({"state": {"target": "h1"}}))
    with browsing(chromium, reduced_motion="reduce") as context:
        other = context.new_page()
        other.goto(lab.url)
        line_is_there(other)
        other.set_input_files("#state-file", wrong)
        expect(other.locator("#take-said")).to_contain_text("is not a state of the lab")
        other.set_input_files("#state-file", taken)
        expect(other.locator("#take-said")).to_contain_text("The page is as lab.json has it")
        expect(other.locator("#target")).to_have_value("sin(h1)")
        expect(other.locator("#learner")).to_have_value("kernel")


def test_pictures_are_on_paper_also_at_night(page: Any) -> None:
    page.emulate_media(color_scheme="dark")
    line_is_there(page)
    picture = downloaded(page, ".take[data-plot=plot] >> text=SVG").decode()
    page.emulate_media(color_scheme="light")
    assert "DejaVu Sans" in picture
    assert "rgb(255, 255, 255)" in picture
    assert "rgb(0, 114, 178)" in picture


def test_far_outliers_leave_the_bulk_its_width(page: Any) -> None:
    page.click("[data-story=outlier]")
    # The one direction of this target is drawn against what is orthogonal to it.
    title = "document.getElementById('neuron-plot').layout?.yaxis.title.text"
    until(page, f"{title} === 'cosine with the rest'")
    x, y = page.evaluate("(({x, y}) => [x, y])(document.getElementById('neuron-plot').data.at(-1))")
    assert [a * a + b * b for a, b in zip(x, y, strict=True)] == pytest.approx([1] * len(x))
    page.wait_for_selector("body[data-spectrum=done]")
    shape = page.evaluate("document.getElementById('spectrum-plot').layout")
    edge = page.evaluate("Math.max(...document.getElementById('spectrum-plot').data[1].x)")
    assert shape["xaxis"]["range"][1] < 1.5 * edge < shape["xaxis2"]["range"][0]
    # A spectrum that is refused leaves none of the question before.
    page.click("#facts > summary")
    page.fill("#inputs", "spiked:d^0.5")
    page.keyboard.press("Tab")
    page.click("#facts > summary")
    expect(page.locator("#spectrum-said.bad")).to_contain_text("gaussian inputs alone")
    assert page.evaluate("document.getElementById('spectrum-plot').data") is None
    page.click("[data-story=staircase]")
    line_is_there(page)


def test_numbers_are_written_short_and_whole(page: Any) -> None:
    written = "(all) => import('./page.js').then((m) => all.map((each) => m.digits(each)))"
    numbers = [120, 100, 1, 0.12345, 1234, 0, None]
    assert page.evaluate(written, numbers) == ["120", "100", "1", "0.123", "1230", "0", "–"]


def test_on_a_phone_the_plot_stays_above_every_slider(chromium: Any, lab: Lab) -> None:
    size = {"width": 390, "height": 844}
    with browsing(chromium, viewport=size, reduced_motion="reduce", has_touch=True) as context:
        page = context.new_page()
        page.goto(lab.url)
        line_is_there(page)
        page.click("#tour-skip")
        for name in ("dim", "step_size"):
            slider = f"#controls .control[data-name={name}] input[type=range]"
            page.locator(slider).evaluate("(e) => e.scrollIntoView({block: 'center'})")
            assert is_in_sight(page, slider)
            assert is_in_sight(page, "#plot")
            assert place(page, "#plot")["bottom"] <= place(page, slider)["top"]
        # The words of a story do not stay above it and cover it.
        page.click("[data-story=wall]")
        line_is_there(page)
        page.locator(slider).evaluate("(e) => e.scrollIntoView({block: 'center'})")
        assert place(page, "header")["bottom"] <= place(page, "#plot")["top"]
