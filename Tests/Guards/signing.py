"""ECDSA whose signatures are the same in every run, and certificates made with it.

Keys and nonces follow from names and digests: these keys sign test records and nothing else.
"""

import base64
import hashlib
import hmac


class Curve:
    """A curve y^2 = x^3 - 3x + b; multiples of its base point come from a table of four bits a step."""

    def __init__(self, oid, p, n, x, y):
        self.oid, self.p, self.n = oid, p, n
        self.size = (p.bit_length() + 7) // 8
        self.table = []
        base = (x, y)
        for _ in range(0, n.bit_length(), 4):
            row = [base]
            for _ in range(14):
                row.append(self.added(row[-1], base))
            self.table.append(row)
            base = self.added(row[-1], base)

    def added(self, a, b):
        """The sum of two points in affine coordinates that are not each other's opposite."""
        (x1, y1), (x2, y2), p = a, b, self.p
        if a == b:
            slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, p) % p
        else:
            slope = (y2 - y1) * pow(x2 - x1, -1, p) % p
        x = (slope * slope - x1 - x2) % p
        return x, (slope * (x1 - x) - y1) % p

    def multiple(self, k):
        """k times the base point: sums in Jacobian coordinates, one inversion at the end."""
        p, total = self.p, None
        for row in self.table:
            digit, k = k & 15, k >> 4
            if digit == 0:
                continue
            x2, y2 = row[digit - 1]
            if total is None:
                total = (x2, y2, 1)
                continue
            x1, y1, z1 = total
            zz = z1 * z1 % p
            h = (x2 * zz - x1) % p
            r = (y2 * z1 * zz - y1) % p
            hh = h * h % p
            hhh, v = h * hh % p, x1 * hh % p
            x3 = (r * r - hhh - 2 * v) % p
            total = (x3, (r * (v - x3) - y1 * hhh) % p, z1 * h % p)
        x, y, z = total
        inverse = pow(z, -1, p)
        return x * inverse * inverse % p, y * inverse * inverse * inverse % p


P192 = Curve(
    "1.2.840.10045.3.1.1", 2**192 - 2**64 - 1,
    0xFFFFFFFFFFFFFFFFFFFFFFFF99DEF836146BC9B1B4D22831,
    0x188DA80EB03090F67CBF20EB43A18800F4FF0AFD82FF1012,
    0x07192B95FFC8DA78631011ED6B24CDD573F977A11E794811)
P256 = Curve(
    "1.2.840.10045.3.1.7", 2**256 - 2**224 + 2**192 + 2**96 - 1,
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)
P384 = Curve(
    "1.3.132.0.34", 2**384 - 2**128 - 2**96 + 2**32 - 1,
    0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973,
    0xAA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B9859F741E082542A385502F25DBF55296C3A545E3872760AB7,
    0x3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147CE9DA3113B5F0B8C00A60B1CE1D7E819D7A431D7C90EA0E5F)


def der(tag, *parts):
    body = b"".join(parts)
    if len(body) < 128:
        return bytes([tag, len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 128 | len(length)]) + length + body


def sequence(*parts):
    return der(0x30, *parts)


def integer(number):
    return der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def identifier(text):
    first, second, *rest = map(int, text.split("."))
    body = bytes([40 * first + second])
    for number in rest:
        digits = [number & 127]
        while number := number >> 7:
            digits.append(number & 127 | 128)
        body += bytes(reversed(digits))
    return der(0x06, body)


def bits(body, unused=0):
    return der(0x03, bytes([unused]), body)


class Key:
    """A private key that follows from its name."""

    def __init__(self, curve, name):
        self.curve = curve
        self.secret = hashlib.sha512(name.encode()).digest()
        self.number = int.from_bytes(self.secret, "big") % (curve.n - 1) + 1
        x, y = (number.to_bytes(curve.size, "big") for number in curve.multiple(self.number))
        self.spki = sequence(
            sequence(identifier("1.2.840.10045.2.1"), identifier(curve.oid)), bits(b"\x04" + x + y))

    @property
    def public_key(self):
        return base64.b64encode(self.spki).decode()

    def pair(self, message, hashing):
        n, digest = self.curve.n, hashlib.new(hashing, message).digest()
        number = int.from_bytes(digest, "big") >> max(0, 8 * len(digest) - n.bit_length())
        k = int.from_bytes(hmac.digest(self.secret, digest, "sha512"), "big") % (n - 1) + 1
        r = self.curve.multiple(k)[0] % n
        return r, pow(k, -1, n) * (number + r * self.number) % n

    def signature(self, message, hashing="sha256"):
        return sequence(*map(integer, self.pair(message, hashing)))

    def jws(self, header, payload):
        signed = base64url(header) + "." + base64url(payload)
        r, s = self.pair(signed.encode(), "sha256")
        size = self.curve.size
        return signed + "." + base64url(r.to_bytes(size, "big") + s.to_bytes(size, "big"))


def base64url(data):
    data = data if isinstance(data, bytes) else data.encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class AppStoreChain:
    """Root, intermediate and leaf, shaped as Apple's, with the marks of Apple's extensions."""

    def __init__(self, name):
        keys = [Key(P384, f"{name} root"), Key(P384, f"{name} middle"), Key(P256, f"{name} leaf")]
        names = [f"Guards {part} {name}" for part in ("Root", "Intermediate", "Leaf")]
        can_issue, can_sign = bits(b"\x06", 1), bits(b"\x80", 7)
        authority, none = sequence(der(0x01, b"\xff")), sequence()
        root = self.certificate(1, keys[0], names[0], keys[0], names[0], authority, can_issue)
        middle = self.certificate(
            2, keys[1], names[1], keys[0], names[0], authority, can_issue,
            "1.2.840.113635.100.6.2.1")
        leaf = self.certificate(
            3, keys[2], names[2], keys[1], names[1], none, can_sign, "1.2.840.113635.100.6.11.1")
        self.key = keys[2]
        chain = ",".join(f'"{base64.b64encode(part).decode()}"' for part in (leaf, middle, root))
        self.header = '{"alg":"ES256","x5c":[' + chain + "]}"
        body = base64.b64encode(root).decode()
        lines = "".join(body[at:at + 64] + "\n" for at in range(0, len(body), 64))
        self.root_pem = f"-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n"

    @staticmethod
    def certificate(serial, key, name, issuer_key, issuer, constraints, usage, mark=None):
        def called(text):
            return sequence(
                der(0x31, sequence(identifier("2.5.4.3"), der(0x0C, text.encode()))))

        def extension(oid, value, critical=True):
            flag = der(0x01, b"\xff") if critical else b""
            return sequence(identifier(oid), flag, der(0x04, value))

        algorithm = sequence(identifier("1.2.840.10045.4.3.3"))
        extensions = [extension("2.5.29.19", constraints), extension("2.5.29.15", usage)]
        if mark:
            extensions.append(extension(mark, b"\x05\x00", critical=False))
        content = sequence(
            der(0xA0, integer(2)), integer(serial), algorithm, called(issuer),
            sequence(der(0x17, b"150101000000Z"), der(0x17, b"450101000000Z")), called(name),
            key.spki, der(0xA3, sequence(*extensions)))
        return sequence(content, algorithm, bits(issuer_key.signature(content, "sha384")))

    def sign(self, payload):
        return self.key.jws(self.header, payload)
