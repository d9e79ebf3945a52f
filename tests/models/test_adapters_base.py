"""What all adapters share: keys, addresses, clients of event loops, and errors of the transport."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import anyio
import httpx2
import pytest

from tests.fake_vendors import FakeAnthropic, FakeOpenAI
from tests.fake_vendors.server import light_client
from touba_sdk.models import (
    AuthError,
    ConnectionFailedError,
    IncompleteStreamError,
    InvalidRequestError,
    ModelError,
    ModelResponseError,
    ModelTimeoutError,
    Request,
    RetryNotice,
    StreamIdleError,
    TextPart,
    chain,
    generate_sync,
    is_retryable,
    stream_sync,
    user_text,
)
from touba_sdk.models.adapters import (
    AnthropicModel,
    GeminiModel,
    OllamaModel,
    OpenAIChatModel,
    OpenAIModel,
    VendorModel,
)
from touba_sdk.models.adapters._base import check_address
from touba_sdk.models.adapters._failures import retry_after, transport_failure
from touba_sdk.models.adapters._shape import arguments_object, merged, seal, unseal
from touba_sdk.models.messages import ToolCallPart
from touba_sdk.models.middleware import retry
from touba_sdk.testing.model_contract import Answer

HELLO = Request([user_text("hi")])
VENDORS: list[Any] = [OpenAIModel, OpenAIChatModel, AnthropicModel, GeminiModel]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


# --- keys and packages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_missing_key_is_told_by_the_first_call(vendor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model = vendor("m")
    with pytest.raises(AuthError) as caught:
        anyio.run(model.generate, HELLO)
    assert caught.value.code == "no_key"
    assert "API_KEY" in str(caught.value)
    assert caught.value.status is None


def test_the_key_of_the_environment_is_used_where_none_is_given(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer(Answer())
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    async def ask() -> str:
        async with server.model(api_key=None) as model:
            return str((await model.generate(HELLO)).text)

    assert anyio.run(ask)
    assert server.requests[-1].headers["authorization"] == "Bearer k"


def test_a_missing_package_names_its_extra() -> None:
    class Absent(OpenAIModel):
        PACKAGE: ClassVar[str] = "no_such_package_of_a_vendor"

    with pytest.raises(ImportError, match="with the extra `openai`"):
        anyio.run(Absent("m", api_key="k").generate, HELLO)


def test_making_models_loads_no_sdk() -> None:
    code = (
        "import sys; from touba_sdk.models.adapters import *\n"
        "AnthropicModel('m'), GeminiModel('m'), OllamaModel('m'), OpenAIModel('m'), OpenAIChatModel('m')\n"
        "print([n for n in ('openai', 'anthropic', 'google.genai', 'ollama', 'pydantic_ai', 'httpx') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com", "http://10.0.0.5/v1", "https://10.0.0.5/v1", "https://169.254.169.254/latest",
        "https://[fe80::1]/v1", "https://[fd00::1]", "ftp://api.example.com", "api.example.com", "https://", "https://[bad",
    ],
)  # fmt: skip
def test_addresses_that_a_key_should_not_go_to(url: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_address(url, "openai", allow_private=False)
    assert caught.value.code == "base_url"
    assert url not in str(caught.value)
    if url.startswith("http") and "[bad" not in url and url != "https://":
        check_address(url, "openai", allow_private=True)


@pytest.mark.parametrize(
    "url", [None, "https://api.example.com/v1", "http://127.0.0.1:11434", "http://localhost:8000/v1", "http://[::1]:80"]
)
def test_addresses_that_are_fine(url: str | None) -> None:
    check_address(url, "openai", allow_private=False)


def test_a_wrong_address_is_told_before_anything_is_sent() -> None:
    for vendor in (*VENDORS, OllamaModel):
        with pytest.raises(InvalidRequestError, match="plain HTTP"):
            anyio.run(vendor("m", api_key="k", base_url="http://models.example").generate, HELLO)


# --- clients --------------------------------------------------------------------------------------------------------


def test_each_event_loop_has_one_client_of_its_own(server: FakeOpenAI) -> None:
    server.answer(Answer())
    made: list[httpx2.AsyncClient] = []

    def make() -> httpx2.AsyncClient:
        made.append(light_client())
        return made[-1]

    model = server.model(http_client=make)

    async def ask() -> None:
        async with model:
            await model.generate(HELLO)
            await model.generate(HELLO)

    anyio.run(ask)
    assert len(made) == 1
    anyio.run(ask, backend="trio")
    assert len(made) == 2
    threads = [threading.Thread(target=anyio.run, args=(ask,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 5
    assert all(client.is_closed for client in made)


def test_a_client_that_is_given_belongs_to_one_loop_and_stays_open(server: FakeOpenAI) -> None:
    server.answer(Answer())
    own = light_client()
    model = server.model(http_client=own)

    async def ask() -> None:
        async with model:
            await model.generate(HELLO)
        assert not own.is_closed
        await model.generate(HELLO)
        await model.aclose()
        await own.aclose()

    anyio.run(ask)
    with pytest.raises(RuntimeError, match="another event loop"):
        anyio.run(model.generate, HELLO)


def test_a_model_that_is_gone_leaves_no_client(server: FakeOpenAI) -> None:
    from touba_sdk.models.adapters._base import loop_clients

    server.answer(Answer())

    async def ask() -> int:
        for _ in range(3):
            async with server.model() as model:
                await model.generate(HELLO)
        return len(loop_clients())

    assert anyio.run(ask) == 0


def test_synchronous_use(server: FakeOpenAI) -> None:
    server.answer(Answer((TextPart("one two"),)))
    model = server.model()
    assert generate_sync(model, HELLO).text == "one two"
    with stream_sync(model, HELLO) as stream:
        texts = [event.text for event in stream if hasattr(event, "text")]
    assert "".join(texts) == "one two"
    from touba_sdk.models.portal import call

    call(model.aclose)


def test_retries_are_those_of_the_middleware(server: FakeOpenAI) -> None:
    server.answer(Answer(status=429, retry_after=0.01), Answer(status=503), Answer((TextPart("at last"),)))
    notices: list[RetryNotice] = []
    before = server.received

    async def ask() -> str:
        async with server.model() as model:
            resilient = chain(retry(3, base_delay=0.01, on_retry=notices.append))(model)
            return (await resilient.generate(HELLO)).text

    assert anyio.run(ask) == "at last"
    assert server.received == before + 3
    assert [notice.reason for notice in notices] == ["rate limited", "provider overloaded"]


# --- the transport --------------------------------------------------------------------------------------------------


def test_a_server_that_says_nothing_is_a_time_out_that_may_be_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        models = [
            OpenAIModel("m", api_key="k", base_url=url, timeout=0.2, http_client=light_client),
            AnthropicModel("claude", api_key="k", base_url=url, timeout=0.2, http_client=light_client),
            GeminiModel("m", api_key="k", base_url=url, timeout=0.2, http_client=light_client),
            OllamaModel("m", base_url=url, timeout=0.2),
        ]

        async def ask(model: VendorModel, how: str) -> ModelError:
            async with model:
                try:
                    if how == "generate":
                        await model.generate(HELLO)
                    else:
                        async with model.stream(HELLO) as stream:
                            async for _ in stream:
                                raise AssertionError
                except ModelError as error:
                    return error
            raise AssertionError("no error")

        for model in models:
            for how in ("generate", "stream"):
                error = anyio.run(ask, model, how)
                assert isinstance(error, ModelTimeoutError)
                assert (error.phase, error.retryable, is_retryable(error)) == ("read", True, True)


@pytest.fixture(scope="module")
def untrusted() -> Iterator[int]:
    """A server with a certificate that nobody has signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        import tempfile

        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(file.name)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return  # the fixture ends
                with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.mark.parametrize("make", [OpenAIModel, AnthropicModel, GeminiModel])
def test_a_certificate_that_fails_is_never_tried_again(untrusted: int, make: Any) -> None:
    model = make("m", api_key="k", base_url=f"https://127.0.0.1:{untrusted}", http_client=light_client, timeout=5)

    async def ask() -> ModelError:
        async with model:
            with pytest.raises(ConnectionFailedError) as caught:
                await model.generate(HELLO)
            return caught.value

    for backend in ("asyncio", "trio"):
        error = anyio.run(ask, backend=backend)
        assert not error.retryable
        assert not is_retryable(error)
        assert isinstance(error.__cause__, ssl.SSLCertVerificationError)


def test_hints_of_servers() -> None:
    now = 1_000_000_000.0
    cases: list[tuple[dict[str, str], float | None]] = [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:50 GMT"}, 10.0),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:30 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e12"}, 86_400.0),
    ]
    for headers, expected in cases:
        assert retry_after(headers, now=lambda: now) == expected, headers
    assert retry_after(None) is None


def test_kinds_of_failures_of_the_transport() -> None:
    request = httpx2.Request("GET", "http://x")
    broken = json.JSONDecodeError("Expecting value", "<html>", 0)
    cut = json.JSONDecodeError("Unterminated string starting at", '{"a": "b', 6)
    cases: list[tuple[Exception, bool, type[ModelError] | None]] = [
        (httpx2.ConnectTimeout("x", request=request), False, ModelTimeoutError),
        (httpx2.ReadTimeout("x", request=request), True, StreamIdleError),
        (httpx2.ReadError("x", request=request), False, ConnectionFailedError),
        (httpx2.RemoteProtocolError("x", request=request), True, IncompleteStreamError),
        (httpx2.UnsupportedProtocol("x", request=request), False, InvalidRequestError),
        (ConnectionResetError("x"), False, ConnectionFailedError),
        (broken, False, ModelResponseError),
        (broken, True, ModelResponseError),
        (cut, True, IncompleteStreamError),
        (ZeroDivisionError("a mistake of ours"), False, None),
    ]
    for error, streaming, kind in cases:
        found = transport_failure(error, "openai", streaming=streaming)
        assert type(found) is (kind or type(None)), error
    connect = transport_failure(httpx2.ConnectTimeout("x", request=request), "openai", streaming=False)
    assert isinstance(connect, ModelTimeoutError)
    assert connect.phase == "connect"


def test_a_mistake_in_the_adapter_leaves_as_it_is(server: FakeOpenAI) -> None:
    class Broken(OpenAIModel):
        async def _send(self, client: Any, prepared: Any) -> Any:
            raise ZeroDivisionError("a mistake of ours")

    model = Broken("m", api_key="k", base_url=server.url, http_client=light_client)

    async def ask() -> None:
        async with model:
            await model.generate(HELLO)

    with pytest.raises(ZeroDivisionError):
        anyio.run(ask)


# --- small steps ----------------------------------------------------------------------------------------------------


def test_signatures_say_whose_they_are() -> None:
    assert unseal("openai", seal("openai", "item", "a:b")) == ("item", "a:b")
    assert unseal("anthropic", seal("openai", "item", "x")) is None
    assert unseal("openai", None) is None
    assert unseal("openai", "raw") is None


def test_settings_of_the_provider_win_and_objects_are_merged() -> None:
    assert merged({"a": 1, "b": {"x": 1, "y": 1}}, {"a": 2, "b": {"y": 2}, "c": {"z": 1}}) == {
        "a": 2,
        "b": {"x": 1, "y": 2},
        "c": {"z": 1},
    }


def test_arguments_that_are_no_object_are_kept_as_text() -> None:
    assert arguments_object(ToolCallPart("c", "f", "")) == {}
    assert arguments_object(ToolCallPart("c", "f", "[1]")) == {"undecodable_arguments": "[1]"}
    long = arguments_object(ToolCallPart("c", "f", "é" * 2_000))["undecodable_arguments"]
    assert long == "é" * 1_000


def test_the_errors_of_a_vendor_never_show_a_key() -> None:
    with FakeAnthropic() as vendor:
        vendor.answer(Answer(status=401))

        async def ask() -> ModelError:
            async with vendor.model(api_key="sk-secret-key") as model:
                with pytest.raises(ModelError) as caught:
                    await model.generate(HELLO)
                return caught.value

        error = anyio.run(ask)
    assert "sk-secret-key" not in f"{error!r} {error} {error.detail} {error.body}"
