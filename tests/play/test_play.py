"""The playground: what the page gets is what the library says, and nobody else gets anything."""

import http.client
import json
import subprocess
import sys
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labelance.datasets import MultiLabelDataset, load_dataset, make_figure1, make_figure2
from labelance.exceptions import InputError
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors
from labelance.play import Playground, explore, make_scene, map_dataset
from labelance.sampling import MLROS, MLSMOTE, MLSOL

X, Y = make_figure1("b", n_samples=80, random_state=1)
GOOD = {"points": X.tolist(), "labels": Y.tolist(), "n_neighbors": 4, "ratio": 0.5, "seed": 3}


@pytest.fixture(scope="module")
def playground():
    """A playground in another thread, with a map of flags."""
    data = map_dataset(load_dataset("flags", download_if_missing=False))
    with Playground(data=data) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def send(playground):
    """A function that sends a request and returns status, document and headers."""

    def send(method, path, body=None, **headers):
        connection = http.client.HTTPConnection(*playground.server_address[:2], timeout=120)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            given = {"Content-Type": "application/json", **given}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        is_json = answer.getheader("Content-Type") == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode(), answer.headers

    return send


def indicator(lists, q):
    table = np.zeros((len(lists), q), dtype=int)
    for row, labels in enumerate(lists):
        table[row, labels] = 1
    return table


def test_the_page_gets_what_the_library_says(send):
    status, found, _ = send("POST", "/explore", GOOD)
    assert status == 200
    around = find_neighbors(X, 4)
    local = local_distribution(Y, around)
    assert_array_equal(found["neighbors"], around.indices)
    assert_array_equal(found["distances"], around.distances)
    assert_array_equal(found["weights"], local.weights)
    cells = {(row, label): (kind, C) for row, label, kind, C in found["cells"]}
    C, types = local.C.tocoo(), local.types.tocoo()
    assert cells == {
        (row, label): (kind, share)
        for row, label, kind, share in zip(*map(np.ndarray.tolist, (*C.coords, types.data, C.data)))
    }


@pytest.mark.parametrize(
    "sampler",
    [
        MLSOL(sampling_ratio=0.5, k_neighbors=4, random_state=3, missing="distance"),
        MLSMOTE(n_synthetic=40, k_neighbors=4, random_state=3, missing="distance"),
        MLROS(sampling_ratio=0.5, random_state=3),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_synthetic_rows_are_those_of_the_samplers(send, sampler):
    made = send("POST", "/explore", GOOD)[1]["samplers"][type(sampler).__name__]
    X_all, Y_all = sampler.fit_resample(X, Y)
    assert_array_equal(made["points"], X_all[80:])
    assert_array_equal(indicator(made["labels"], 3), Y_all[80:])
    assert_array_equal(made["seeds"], sampler.seed_indices_)
    if isinstance(sampler, MLSOL):
        assert_array_equal(made["positions"], sampler.positions_)
        assert_array_equal(made["references"], sampler.reference_indices_)
    else:
        assert set(made["positions"]) == {None}


def test_a_refusal_of_a_sampler_is_shown_not_raised(send):
    apart, labels = make_figure1("a", random_state=0)
    request = {**GOOD, "points": apart.tolist(), "labels": labels.tolist()}
    status, found, _ = send("POST", "/explore", request)
    assert status == 200
    assert "No label has one" in found["samplers"]["MLSOL"]["message"]
    assert found["samplers"]["MLSOL"]["points"] == []
    assert len(found["samplers"]["MLSMOTE"]["points"]) == 150
    status, found, _ = send("POST", "/explore", {**GOOD, "points": [[0, 0]], "labels": [[1]]})
    assert status == 200
    assert found["neighbors"] is None
    assert "rows" in found["message"]


BAD = {
    "no JSON": b"{",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "other keys": {**GOOD, "file": "/etc/passwd"},
    "no points": {**GOOD, "points": []},
    "points are words": {**GOOD, "points": [["a", "b"]]},
    "three numbers": {**GOOD, "points": [[1, 2, 3]] * 80},
    "fewer labels": {**GOOD, "labels": Y[:5].tolist()},
    "many labels": {**GOOD, "labels": [[0] * 4] * 80},
    "labels of two": {**GOOD, "labels": [[2]] * 80},
    "booleans": {**GOOD, "labels": [[True]] * 80},
    "ragged": {**GOOD, "labels": [[0]] * 79 + [[0, 1]]},
    "many points": {**GOOD, "points": [[0, 0]] * 1001, "labels": [[0]] * 1001},
    "far away": {**GOOD, "points": [[1e300, 0]] * 80},
    "huge": {**GOOD, "points": [[10**400, 0]] * 80},
    "not a number": json.dumps({**GOOD, "ratio": float("nan")}).encode(),
    "no k": {key: value for key, value in GOOD.items() if key != "n_neighbors"},
    "k of 0": {**GOOD, "n_neighbors": 0},
    "k of a half": {**GOOD, "n_neighbors": 2.5},
    "large ratio": {**GOOD, "ratio": 1e9},
    "negative seed": {**GOOD, "seed": -1},
    "scale": {**GOOD, "scale": "log"},
    "scene": {**GOOD, "scene": "../etc"},
    "scene is a list": {**GOOD, "scene": []},
}  # fmt: skip


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_malformed_requests_are_told_what_to_do(send, body):
    status, told, _ = send("POST", "/explore", body)
    assert status == 400
    assert told["problem"]
    assert told["found"]
    parts = (told["problem"], told["found"], told["cure"])
    assert told["message"] == " ".join(f"{part}." for part in parts if part)


def test_only_its_own_page_on_this_computer_is_answered(send, playground):
    port = playground.server_address[1]
    strangers = (
        "evil.example",
        "127.0.0.1.evil",
        "evil@127.0.0.1",
        "evil:evil@[::1]",
        "[::1",
        "::1",
    )
    near = (
        "127.0.0.1:1",
        "127.0.0.1",
        f"127.0.0.1:{port}/",
        f"127.0.0.1:{port}?",
        f"[127.0.0.1]:{port}",
    )
    for host in ("", *strangers, *(f"{name}:{port}" for name in strangers), *near):
        assert send("GET", "/", Host=host)[0] == 403, host
    for host in ("localhost", "LocalHost", "127.0.0.1"):
        assert send("GET", "/", Host=f"{host}:{port}")[0] == 200, host
    for origin in (
        "https://evil.example",
        "null",
        "http://[::1",
        "",
        f"http://127.0.0.1:{port - 1}",
        f"http://evil@127.0.0.1:{port}",
        f"https://127.0.0.1:{port}",
        f"//127.0.0.1:{port}",
    ):
        assert send("POST", "/explore", GOOD, Origin=origin)[0] == 403, origin
    assert send("POST", "/explore", GOOD, Origin=playground.url.rstrip("/"))[0] == 200
    # What a form of another site could send without asking.
    assert send("POST", "/explore", GOOD, Content_Type="text/plain")[0] == 400


def test_whatever_is_not_understood_is_refused_in_json(send, playground):
    for method, path in (("PUT", "/"), ("DELETE", "/scenes"), ("GET", "a://["), ("POST", "a://[")):
        status, told, _ = send(method, path)
        assert status in (404, 501), path
        assert told["cure"]
    status, _, headers = send("OPTIONS", "/explore", Origin="https://evil.example")
    assert status == 501
    assert "Access-Control-Allow-Origin" not in headers
    with closing(http.client.HTTPConnection(*playground.server_address[:2])) as connection:
        connection.request("HEAD", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (501, b"")


def test_a_mistake_of_ours_is_told_to_the_page_and_to_the_terminal(send, monkeypatch, capsys):
    def explore(*_, **__):
        raise ZeroDivisionError("somewhere inside")

    monkeypatch.setattr("labelance.play._server.explore", explore)
    status, told, _ = send("POST", "/explore", GOOD)
    assert status == 500
    assert "ZeroDivisionError" in told["found"]
    for _ in range(100):  # the terminal hears of it after the page
        if "somewhere inside" in (said := capsys.readouterr().err):
            break
        time.sleep(0.05)
    assert "somewhere inside" in said


def test_no_files_are_served_and_large_bodies_are_not_read(send):
    for path in ("/play.js", "/../pyproject.toml", "/scenes/../../x", "/scenes/nothing", "//etc"):
        status, told, _ = send("GET", path)
        assert (status, told["cure"]) == (404, "Open /")
    assert send("POST", "/", GOOD)[0] == 404
    assert send("POST", "/explore", b"", Content_Length="300000")[0] == 413
    assert send("POST", "/explore", b"{}", Content_Length="-1")[0] == 400


def test_the_page_runs_its_own_script_alone(send):
    status, page, headers = send("GET", "/")
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


def test_scenes_are_the_figures_of_the_paper(send):
    assert list(send("GET", "/scenes")[1]) == ["data", "figure-1-a", "figure-1-b", "figure-2"]
    scene = send("GET", "/scenes/figure-2")[1]
    figure = make_figure2()
    assert_array_equal(scene["points"], figure.X)
    assert_array_equal(indicator(scene["labels"], 3), figure.Y)
    assert scene["marks"] == {"0": "s", "1": "r1", "2": "r2", "3": "r3", "4": "r4", "5": "r5"}
    assert send("GET", "/scenes/figure-1-a")[1]["editable"]
    with pytest.raises(InputError, match="figure-1-a"):
        make_scene("figure-1-c")


def test_a_map_shows_two_components_and_resamples_in_the_space_of_all_features(send):
    data = load_dataset("flags", download_if_missing=False)
    scene = send("GET", "/scenes/data")[1]
    assert not scene["editable"]
    assert scene["label_names"] == list(data.label_names)
    settings = {"scene": "data", "n_neighbors": 5, "ratio": 0.3, "seed": 0, "scale": "range"}
    status, found, _ = send("POST", "/explore", settings)
    assert status == 200
    sampler = MLSOL(
        scale="range", random_state=0, missing="distance",
        categorical_features=data.categorical_features,
    )  # fmt: skip
    X_all, _ = sampler.fit_resample(data.values, data.Y)
    project = map_dataset(data).project
    assert_array_equal(scene["points"], project(data.values))
    assert_array_equal(found["samplers"]["MLSOL"]["points"], project(X_all[194:]))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_any_data_has_a_map(width):
    rng = np.random.default_rng(0)
    values = rng.random((40, width))
    values[3, 0] = np.nan
    data = MultiLabelDataset(values, rng.random((40, 2)) < 0.3)
    scene = map_dataset(data)
    assert scene.project(scene.X).shape == (40, 2)
    assert np.isfinite(scene.project(scene.X)).all()
    assert len(explore(scene.X, scene.y, n_neighbors=3).synthetic["MLSOL"].seeds) == 12


def test_of_many_rows_a_map_shows_some_and_keeps_rare_labels():
    rng = np.random.default_rng(0)
    Y = np.zeros((3000, 2), dtype=int)
    Y[:9, 0], Y[::2, 1] = 1, 1
    scene = map_dataset(MultiLabelDataset(rng.random((3000, 3)), Y))
    assert (scene.y.shape[0], scene.n_total) == (1000, 3000)
    assert scene.y.sum(axis=0).tolist() == [3, 500]


def test_sparse_data_stay_sparse_on_their_way_to_the_map():
    scene = map_dataset(load_dataset("verbframes", download_if_missing=False))
    assert scene.X.format == "csr"
    assert scene.project(scene.X).shape == (scene.X.shape[0], 2)
    assert abs(scene.X.shape[0] - 1000) < 50


def test_it_listens_on_this_computer_alone(playground):
    assert playground.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_named(playground):
    port = playground.server_address[1]
    with pytest.raises(InputError, match=f"port={port}"):
        Playground(port=port)


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted(tmp_path):
    # Whoever started the tests may have had them ignore Ctrl-C, as nohup does.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program += "from labelance.cli import main; main()"
    command = [sys.executable, "-c", program, "play", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        said = process.stdout.readline()
        address = said.split()[4].removeprefix("http://").rstrip("/")
        with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
        process.send_signal(2)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "closed" in errors
