"""Records and configurations for the guards, the same bytes in every run.

Seeds are the records of Tests/Fixtures, of examples/ and of topics/, and the published vectors of
postbacks. A seeded generator makes many records of them: other ids, campaigns and amounts, damaged
fields, numbers at the edges, odd texts, repetitions, and values that are no JSON.
"""

import base64
import functools
import json
import pathlib
import random
import re
import shutil

from signing import P192, P256, AppStoreChain, Key

ROOT = pathlib.Path(__file__).resolve().parents[2]
STREAMS = {
    "bids": "openrtb.auction",
    "impressions": "skoverlay.presented",
    "overlay-clicks": "skoverlay.click",
    "postbacks": "skadnetwork.postback",
    "store-notifications": "appstore.notification.v2",
    "conversion-updates": "conversion.update",
    "costs": "cost.reported",
}
# Notifications are 10 KB of certificates each, and three signatures: fewer of them say as much.
COUNTS = {"store-notifications": 3000}
COUNT = 20_000

HOUR = 3_600_000
# Long ago, so that no window is open and nothing depends on the clock.
FIRST_HALF = 1_763_596_800_000  # 2025-11-20T00:00:00Z
SECOND_HALF = FIRST_HALF + 48 * HOUR
FIXTURES = FIRST_HALF + 24 * HOUR


# --- JSON whose numbers and members stay as they are written -------------------------------------

class Number(str):
    """A number, as it is written."""


class Object(list):
    """Members in their order, repeated ones too."""

    def __contains__(self, name):
        return any(key == name for key, _ in self)

    def get(self, name, default=None):
        return next((value for key, value in self if key == name), default)

    def set(self, name, value):
        for place, (key, _) in enumerate(self):
            if key == name:
                self[place] = (name, value)
                return
        self.append((name, value))


def parse(text):
    return json.loads(
        text, parse_int=Number, parse_float=Number, parse_constant=Number,
        object_pairs_hook=Object)


def text(node):
    if isinstance(node, Object):
        return "{" + ",".join(f"{text(key)}:{text(value)}" for key, value in node) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(text, node)) + "]"
    if isinstance(node, Number):
        return str(node)
    if isinstance(node, str):
        written = json.dumps(node, ensure_ascii=False)
        half = any("\ud800" <= character <= "\udfff" for character in node)
        return json.dumps(node) if half else written
    return json.dumps(node)


def copy(node):
    if isinstance(node, Object):
        return Object((key, copy(value)) for key, value in node)
    return [copy(part) for part in node] if isinstance(node, list) else node


def objects(node):
    """All objects in a document, the document first."""
    if isinstance(node, Object):
        yield node
    for part in node if isinstance(node, list) else []:
        yield from objects(part[1] if isinstance(node, Object) else part)


def leaves(node):
    """Where a document has a value: its container, the place in it, the member's name."""
    for place, part in enumerate(node if isinstance(node, list) else []):
        name, value = part if isinstance(node, Object) else (None, part)
        yield node, place, name, value
        yield from leaves(value)


def put(container, place, value):
    named = isinstance(container, Object)
    container[place] = (container[place][0], value) if named else value


# --- Signatures -----------------------------------------------------------------------------------

SIGNERS = {name: Key(P256, name) for name in ("production", "development", "stranger")}
OLD_PRODUCTION = Key(P192, "production before 2.1")
NETWORKS = {"com.example": Key(P256, "com.example"), "example123.skadnetwork": Key(P192, "old ads")}
CHAINS = {"apple": AppStoreChain("A"), "stranger": AppStoreChain("B")}

V2 = ["version", "ad-network-id", "campaign-id", "app-id", "transaction-id", "redownload",
      "source-app-id"]
POSTBACK_FIELDS = {
    "1.0": ["ad-network-id", "campaign-id", "app-id", "transaction-id"],
    "2.0": V2,
    "2.1": V2,
    "2.2": V2 + ["fidelity-type"],
    "3.0": V2 + ["fidelity-type", "did-win"],
    "4.0": [name.replace("campaign-id", "source-identifier") for name in V2]
    + ["source-domain", "fidelity-type", "did-win", "postback-sequence-index"],
}


def joined(values):
    written = (value if isinstance(value, str) else text(value) for value in values)
    return "\u2063".join(written).encode("utf-8", "surrogatepass")


def sign_postback(postback, signer):
    version = postback.get("version", "1.0")
    version = version if isinstance(version, str) else ""
    names = [name for name in POSTBACK_FIELDS.get(version, []) if name in postback]
    if "source-app-id" in names and "source-domain" in names:
        names.remove("source-domain")
    old = version in ("1.0", "2.0") and signer == "production"
    key = OLD_PRODUCTION if old else SIGNERS[signer]
    signature = key.signature(joined(postback.get(name) for name in names))
    postback.set("attribution-signature", base64.b64encode(signature).decode())


def sign_claims(claims, header, signer):
    kid = "production/0" if signer == "stranger" else f"{signer}/0"
    header = text(header) if header else '{"kid":"' + kid + '","alg":"ES256"}'
    return SIGNERS[signer].jws(header, text(claims).encode("utf-8", "surrogatepass"))


def sign_ads(auction):
    """Signs each ad of a network whose key is known."""
    for ad in objects(auction):
        network = ad.get("network")
        if not isinstance(network, str) or network.lower() not in NETWORKS:
            continue
        fidelities = ad.get("fidelities")
        targets = fidelities if isinstance(fidelities, list) else [ad]
        for target in targets:
            if not isinstance(target, Object) or "signature" not in target:
                continue
            version = ad.get("version")
            campaign = "sourceidentifier" if version == "4.0" else "campaign"
            values = [version, network.lower(), ad.get(campaign), ad.get("itunesitem"),
                      str(target.get("nonce")).lower(), ad.get("sourceapp")]
            if version in ("2.2", "3.0", "4.0"):
                values.append(target.get("fidelity", Number(1)))
            values.append(target.get("timestamp"))
            signature = NETWORKS[network.lower()].signature(joined(values))
            target.set("signature", base64.b64encode(signature).decode())


def sign_notification(payload, chain):
    payload = copy(payload)
    for holder in ("data", "appData"):
        inner = payload.get(holder)
        for name, value in list(inner) if isinstance(inner, Object) else []:
            if name.startswith("signed") and isinstance(value, Object) and value:
                inner.set(name, CHAINS[chain].sign(text(value)))
    return Object([("signedPayload", CHAINS[chain].sign(text(payload)))])


# --- Seeds ----------------------------------------------------------------------------------------

class Seed:
    """A record before it is signed."""

    def __init__(self, fields, headers=(), time=FIXTURES, weight=8):
        self.fields, self.headers, self.time = fields, dict(headers), time
        self.weight = weight  # how often it is varied

    def varied(self):
        return Seed(Object((name, copy(value)) for name, value in self.fields), self.headers)

    @property
    def document(self):
        """What the generator changes."""
        return next(
            (self.fields.get(name) for name in ("payload", "claims", "value")
             if isinstance(self.fields.get(name), Object)), None)

    def value(self):
        """The members of a line that weir publish takes."""
        fields = self.fields
        if "payload" in fields:
            stranger = fields.get("chain") == "stranger"
            value = sign_notification(fields.get("payload"), "stranger" if stranger else "apple")
        elif "claims" in fields:
            value = fields.get("value", Object())
            signer = fields.get("sign", "stranger")
            value.set("jws-string", sign_claims(fields.get("claims"), fields.get("header"), signer))
            self.headers.setdefault("ce_type", "adattributionkit.postback")
        elif "value" in fields:
            value = fields.get("value")
            if "sign" in fields:
                sign_postback(value, fields.get("sign"))
            if "ads" in fields:
                sign_ads(value)
        elif "base64" in fields:
            return '"base64":' + text(fields.get("base64"))
        elif "text" in fields:
            return '"text":' + text(fields.get("text"))
        else:
            return None
        return '"value":' + text(value)

    def line(self):
        value = self.value()
        headers = {"ce_specversion": "1.0"} | self.headers
        members = [f'"timestamp_ms":{self.time}']
        if self.fields.get("key") is not None:
            members.append('"key":' + text(self.fields.get("key")))
        if "partition" in self.fields:
            members.append('"partition":' + text(self.fields.get("partition")))
        members.append('"headers":' + json.dumps(headers))
        if value is not None:
            members.append(value)
        return "{" + ",".join(members) + "}\n"


def fixture_seeds(stream):
    for path in sorted((ROOT / "Tests/Fixtures" / stream).glob("*.json")):
        for record in parse(path.read_text()).get("records"):
            headers = dict(record.get("headers") or [])
            for member, header in (("type", "ce_type"), ("via", "ce_via")):
                if member in record:
                    headers[header] = record.get(member)
            if "key" not in record:
                record.set("key", path.stem)
            yield Seed(record, headers, weight=1 if path.stem == "refused" else 8)


def example_seeds(stream):
    path = ROOT / "examples" / f"{stream}.ndjson"
    for line in path.read_text().splitlines() if path.exists() else []:
        record = parse(line)
        yield Seed(record, record.get("headers") or {"ce_type": STREAMS[stream]})


def topic_seeds(stream):
    import yaml  # PyYAML: inputs that were made once need it no more.

    class Loader(yaml.SafeLoader):
        """Times stay texts."""

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if not pair[0].endswith("timestamp")]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    topic = yaml.load((ROOT / "topics" / f"{stream}.yaml").read_text(), Loader)
    for message in topic["components"]["messages"].values():
        for example in message["examples"]:
            value = parse(json.dumps(example["payload"], ensure_ascii=False))
            yield Seed(Object([("value", value), ("key", example["headers"]["ce_id"])]),
                       example["headers"])


def vector_seeds():
    path = ROOT / "Tests/SignaturesTests/Vectors/skadnetwork.jsonl"
    for line in path.read_text().splitlines():
        vector = parse(line)
        if isinstance(vector.get("postback"), Object):
            value = vector.get("postback")
            kit = "jws-string" in value
            kind = "adattributionkit.postback" if kit else "skadnetwork.postback"
            yield Seed(Object([("value", value), ("key", "vector")]), {"ce_type": kind})


@functools.cache
def seeds(stream):
    found = [*fixture_seeds(stream), *example_seeds(stream), *topic_seeds(stream)]
    return found + list(vector_seeds()) if stream == "postbacks" else found


# --- The generator --------------------------------------------------------------------------------

POOLS = [
    (r"^(ad[-_]network[-_]id(entifier)?|network)$",
     ["com.example", "Com.Example", "example123.skadnetwork", "su67r6k2v3.skadnetwork",
      "v9wttpbfk9.skadnetwork"]),
    (r"^(app[-_]id|advertised-item-identifier|itunesitem)$",
     [525463029, 1176027022, 1434505322, 22]),
    (r"^(source[-_]app[-_]id|publisher-item-identifier|sourceapp)$", [880047117, 11]),
    (r"^(campaign[-_]id|campaign)$", [7, 42, 45, 46, 100]),
    (r"^source[-_]?identifier$", ["5239", "5240", "239", "39", "1307", "4021", "0039"]),
    (r"^seat$", ["acme", "Acme", "bidder-7", ""]),
    (r"^zone_id$", ["1741", "zone-1", "zone-2"]),
    (r"^conversion-value$", list(range(64))),
    (r"^coarse-conversion-value$", ["low", "medium", "high"]),
    (r"^country-code$", ["US", "DE", "JP"]),
    (r"^ad-interaction-type$", ["view", "click", "hover", ""]),
    (r"^conversion-type$", ["download", "redownload", "re-engagement", "pre-order"]),
    (r"^marketplace-identifier$", ["com.apple.AppStore", "com.example.market", ""]),
    (r"^(postback-sequence-index|sequence_index)$", [0, 1, 2]),
    (r"^loss_reason$", [1, 102, 214, 999]),
    (r"^day$", ["2025-11-19", "2025-11-20", "2025-11-21", "2025-11-22", "2025-11-30"]),
    (r"^amount$", ["0", "0.0000005", "12.34", "1e3", "1000000000", "1000000001"]),
    (r"^source$", ["apple-ads", "finance"]),
    (r"^(price|bidfloor)$", ["0.5", "1.17", "2.1", "4.35", "0.000001", "1e2"]),
    (r"^(currency|cur)$", ["USD", "EUR", "JPY", "usd"]),
    (r"^notificationType$", ["DID_RENEW", "REFUND", "REFUND_REVERSED", "SUBSCRIBED", "EXPIRED"]),
]
POOLS = [(re.compile(pattern), values) for pattern, values in POOLS]
NUMERIC = re.compile(r"(0|[1-9]\d*)(\.\d+)?(e\d+)?")
IDS = re.compile(
    r"^(id|\w*_id|transaction-id|postback-identifier|notificationUUID|\w*transactionId)$", re.I)

EDGES = [
    Number("0"), Number("-1"), Number("1"), Number("0.1"), Number("1e-7"), Number("1e300"),
    Number("1E400"), Number("-0"), Number("9223372036854775807"), Number("9223372036854775808"),
    Number("-9223372036854775808"), Number("18446744073709551616"), Number("9000000000000"),
    Number("253402300800000"), True, False, None, "", " ", "0", "-1", "00042", "9223372036854775808",
    "=1+1", "+1", "-1+2", "@x", "\t1", 'a "b", \'c\'\n d', "ünïcødé 表 😀", "\u0000", "\ud800",
    "\u2063", "e\u0301", "\u202eabc", "x" * 300, Object(), [], [Number("1")], Object([("a", None)]),
]

# Values that are rejected before their type is looked at, and those that just are not.
BROKEN = [
    Object(),  # a tombstone
    Object([("text", "")]),
    Object([("text", '{"request":{"id":"a"}')]),
    Object([("text", '{"id":01}')]),
    Object([("text", '{"id":"a"} x')]),
    Object([("text", "[]")]),
    Object([("text", "\ufeff{}")]),
    Object([("text", "[" * 65 + "]" * 65)]),
    Object([("text", '{"a":' * 64 + "1" + "}" * 64)]),
    Object([("base64", base64.b64encode(b'{"id":"\xff\xfe"}').decode())]),
    Object([("base64", base64.b64encode(b'{"id":"\xed\xa0\x80"}').decode())]),
]
TOO_LARGE = Object([("text", '{"id":"' + "x" * 1_048_577 + '"}')])

TIMES = [0, 1, HOUR - 1, 951_782_400_000, 4_102_444_800_000]


def generated(stream, half):
    """Lines of one half of the generated log."""
    rng = random.Random(f"{stream} {half}")
    candidates = [seed for seed in seeds(stream) if seed.document is not None]
    count = COUNTS.get(stream, COUNT) // 2
    begin = SECOND_HALF if half else FIRST_HALF
    weights = [seed.weight for seed in candidates]
    rich = [seed for seed in candidates if any(name == "price" for *_, name, _ in leaves(seed.document))]
    recent = []
    for index in range(count):
        if rich and index % 500 == 0:
            # The greatest amounts, in one row several times: sums that overflow.
            chosen = rng.choice(rich)
            for copies in range(4):
                seed = enormous(chosen, f"{index}-{copies}")
                seed.time = begin + index * 48 * HOUR // count
                sign(rng, seed, stream)
                yield seed.line()
        time = begin + index * 48 * HOUR // count + rng.randrange(-60_000, 60_000)
        chance = rng.random()
        if chance < 0.08 and recent:
            yield re.sub(r'"timestamp_ms":\d+', f'"timestamp_ms":{time}', rng.choice(recent))
            continue
        if chance < 0.09:
            seed = Seed(copy(rng.choice(BROKEN)), {"ce_type": STREAMS[stream]})
        elif index in (count // 3, count // 2):
            seed = Seed(copy(TOO_LARGE), {"ce_type": STREAMS[stream]})
        else:
            seed = varied(rng, rng.choices(candidates, weights)[0], stream, count)
        if "key" not in seed.fields:
            seed.fields.set("key", f"key-{rng.randrange(count)}")
        seed.time = rng.choice(TIMES) if rng.random() < 0.0005 else time
        line = seed.line()
        recent.append(line)
        del recent[:-300]
        yield line


def enormous(seed, token):
    seed = seed.varied()
    for container, place, name, value in leaves(seed.document):
        if name == "price":
            # Of notifications in thousandths, so that two make too much; of bids the bound.
            amount = "9000000000000000" if "payload" in seed.fields else "1000000"
            put(container, place, Number(amount))
        elif IDS.match(name or "") and isinstance(value, str) and not value.isdigit():
            put(container, place, f"{value}-{token}")
    seed.fields.set("key", "enormous")
    return seed


def varied(rng, seed, stream, count):
    seed = seed.varied()
    document = seed.document
    token = rng.randrange(1, 2 * count)
    for container, place, name, value in list(leaves(document)):
        if name is None or isinstance(value, list) or value is None:
            continue
        pool = next((values for pattern, values in POOLS if pattern.match(name)), None)
        if pool and rng.random() < 0.7:
            chosen = str(rng.choice(pool))
            numeric = isinstance(value, Number) and NUMERIC.fullmatch(chosen)
            if numeric or not isinstance(value, Number):
                put(container, place, Number(chosen) if numeric else chosen)
        elif IDS.match(name) and not pool and isinstance(value, str):
            changed = value[:-6] + f"{token:06}" if value.isdigit() else f"{value[:18]}-{token}"
            put(container, place, changed)
    key = seed.fields.get("key")
    if key is not None:
        seed.fields.set("key", f"{key}-{token}" if rng.random() < 0.95 else None)
    chance = rng.random()
    if chance < 0.12:
        damage(rng, document)
    elif chance < 0.13:
        seed.headers["ce_type"] = rng.choice(["no.such", "", "ünknown", STREAMS[stream]])
    elif chance < 0.14:
        seed.headers["content-type"] = "application/cloudevents+json"
    sign(rng, seed, stream)
    return seed


def damage(rng, document):
    """One value that is gone, or is something else."""
    places = list(leaves(document))
    if not places:
        return
    container, place, name, _ = rng.choice(places)
    if isinstance(container, Object) and rng.random() < 0.3:
        del container[place]
    elif isinstance(container, Object) and rng.random() < 0.05:
        container.append((name, rng.choice(EDGES)))
    else:
        put(container, place, copy(rng.choice(EDGES)))


def sign(rng, seed, stream):
    signer = rng.choices(list(SIGNERS), [85, 8, 7])[0]
    if stream == "postbacks":
        kit = "claims" in seed.fields or "jws-string" in seed.fields.get("value", Object())
        if not kit and rng.random() < 0.8:
            seed.fields.set("sign", signer)
            if rng.random() < 0.4:
                seed.headers["ce_via"] = rng.choice(["device", "developer-copy", "relay", "x"])
        elif "claims" in seed.fields:
            seed.fields.set("sign", signer)
    elif stream == "bids" and rng.random() < 0.9:
        seed.fields.set("ads", True)
    elif stream == "store-notifications" and rng.random() < 0.02:
        seed.fields.set("chain", "stranger")


# --- Configurations -------------------------------------------------------------------------------

APPS = """\
  - {bundle_id: com.example.puzzle, app_apple_id: 525463029, shared_secrets: [before, 0123456789abcdef0123456789abcdef]}
  - {bundle_id: com.example.other, shared_secrets: [other secret]}
"""
SIGNING = "      - MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"


def write_configuration(directory, changed):
    """The shipped pipelines with the guards' keys, apps and partners; a year earlier, as the log is."""
    shutil.copytree(ROOT / "pipelines", directory)
    for path in (directory / "conversion-models").glob("*.yaml"):
        path.write_text(path.read_text().replace(": 2026-", ": 2025-"))
    production = [SIGNERS["production"].public_key, OLD_PRODUCTION.public_key]
    (directory / "postbacks.yaml").write_text(
        f"trust_development: {str(changed).lower()}\n"
        f"trusted_keys:\n  production: [{', '.join(production)}]\n"
        f"  development: [{SIGNERS['development'].public_key}]\n  adattributionkit:\n"
        + "".join(
            f"    - {{kid: {kid}/0, key: {SIGNERS[kid].public_key}, verdict: {verdict}}}\n"
            for kid, verdict in (("production", "valid"), ("development", "development"))))
    (directory / "roots/guards.pem").write_text(CHAINS["apple"].root_pem)
    ours, old = (NETWORKS[name].public_key for name in ("com.example", "example123.skadnetwork"))
    rides = "  - {bundle_id: com.example.rides, shared_secrets: [s]}\n"
    (directory / "store-notifications.yaml").write_text(
        "roots: [roots/example-root.pem, roots/guards.pem]\nenvironments: [Production, Sandbox]\n"
        "apps:\n" + APPS + (rides if changed else ""))
    catalog = directory / "catalog.yaml"
    written = catalog.read_text().replace(SIGNING, f"      - {ours}\n{SIGNING}", 1)
    # The fixtures' notifications are of an app with this id.
    for bundle, other in (("rides", "-"), ("puzzle", "rides"), ("-", "puzzle")):
        written = written.replace(f"bundle_id: com.example.{bundle}}}", f"bundle_id: com.example.{other}}}")
    if changed:
        written = written.replace("Rides, test", "Rides, renamed").replace(
            "networks:\n", "networks:\n  example123.skadnetwork:\n    name: Old Network\n"
            f"    ad_signing_keys: [{old}]\n", 1)
    catalog.write_text(written)
    # PORT is where the guards listen, once they do.
    delivery = "delivery: {url: 'http://127.0.0.1:PORT/%s', allow_private: true, concurrency: 16, %s}\n"
    (directory / "partners/guards.yaml").write_text(
        "name: guards\ntrust: [valid, development]\n"
        "filter: {networks: [com.example], windows: [2]}\n" + delivery % ("json", "body: json"))
    (directory / "partners/guards-form.yaml").write_text(
        "name: guards-form\ntrust: [valid]\nfilter: {apps: [22], windows: [0]}\n"
        + delivery % ("form?id={id}", "preset: adjust, missing: {'*': drop}"))
    if changed:
        with (directory / "conversion-models/525463029.yaml").open("a") as model:
            model.write(LATER_MODEL)
        for name, seconds in (("overlay-clicks", 3600), ("bids", 7200)):
            (directory / f"{name}.yaml").write_text(f"dedupe_window_seconds: {seconds}\n")


LATER_MODEL = """
  - id: rides-2025-11
    effective_from: 2025-11-22T12:00:00Z
    currency: EUR
    fine:
      fields:
        - kind: revenue
          bits: [0, 5]
          buckets: [0, 1, 2, 4, 8, 16, 32, 64]
          max: 128
    coarse:
      "0":
        high: [{event: revenue, count_min: 0, count_max: 0, revenue_min: 1, revenue_max: 128}]
"""


def correct_models(directory):
    """A model that was wrong from the beginning: what a replay is for."""
    path = directory / "conversion-models/525463029.yaml"
    path.write_text(path.read_text().replace("max: 1000\n", "max: 250\n")
                    .replace("revenue_max: 1000}", "revenue_max: 250}"))


def make(directory):
    """Writes all inputs into a new directory."""
    records = directory / "records"
    records.mkdir(parents=True)
    for stream in STREAMS:
        with (records / f"{stream}-0.ndjson").open("w", encoding="utf-8") as out:
            out.writelines(seed.line() for seed in seeds(stream))
            out.writelines(generated(stream, 0))
        with (records / f"{stream}-1.ndjson").open("w", encoding="utf-8") as out:
            out.writelines(generated(stream, 1))
    shutil.copytree(ROOT / "topics", directory / "topics")
    write_configuration(directory / "before", changed=False)
    write_configuration(directory / "after", changed=True)
    shutil.copytree(directory / "after", directory / "corrected")
    correct_models(directory / "corrected")
    vectors = ROOT / "Tests/SignaturesTests/Vectors/skadnetwork.jsonl"
    shutil.copy(vectors, directory / "vectors.jsonl")
