import ConfigurationValues
import TestKit
import Testing

@Suite("Faults in files of conversion models")
struct ConversionModelFaultTests {
    private func fault(_ text: String) throws -> String? {
        let file = "conversion-models/7.yaml"
        let fault = try TemporaryPipelines([file: text]).fault { dir throws(ConfigurationError) in
            try dir.conversionModels()
        }
        return fault.map { String($0.trimmingPrefix("\(file):")) }
    }

    @Test(
        "a fault of the model or a version is at the line of its key",
        arguments: FaultCase.all("models"))
    func topFaults(_ wrong: FaultCase) throws {
        #expect(try fault(wrong.text) == wrong.explanation)
    }

    private func version(_ id: String, _ from: String) -> String {
        """
          - id: \(id)
            effective_from: \(from)
            currency: USD
            fine: {fields: []}

        """
    }

    @Test(
        "a text in the place of a number or an amount is a wrong type; the id of an app may be one")
    func quotedNumbers() throws {
        func revenue(_ bits: String, _ max: String) -> String {
            """
            app: "7"
            versions:
              - id: one
                effective_from: 2026-01-01T00:00:00Z
                currency: USD
                fine: {fields: [{kind: revenue, bits: \(bits), buckets: [0], max: \(max)}]}

            """
        }
        #expect(try fault(revenue("[0, 0]", "4.99")) == nil)
        #expect(
            try fault(revenue("[\"0\", 0]", "4.99"))
                == "6: versions[0].fine.fields[0].bits[0]: must be a whole number, but is the"
                + " text '0': remove the quotes or the tag")
        #expect(
            try fault(revenue("[0, 0]", "'4.99'"))?.contains(".max: must be an amount, but") == true
        )
    }

    @Test("versions have ids of their own and ascend strictly")
    func versions() throws {
        let first = "app: 7\nversions:\n" + version("one", "2026-01-01T00:00:00Z")
        #expect(
            try fault(first + version("\"one\"", "2026-02-01T00:00:00Z"))
                == "7: versions[1].id: is the id of an earlier version: give every version its own id"
        )
        for from in ["2026-01-01T00:00:00Z", "2025-12-31T23:00:00Z"] {
            #expect(
                try fault(first + version("two", from))
                    == "8: versions[1].effective_from: is not later than the previous version:"
                    + " append versions in the order in which they take effect")
        }
        #expect(
            try fault("app: 7\nversions:\n" + version("one", "2026-01-01T00:30:00Z"))
                == "4: versions[0].effective_from: is not a full hour in UTC:"
                + " write it like 2026-01-31T05:00:00Z")
        #expect(
            try fault(first.replacing("USD", with: "usd"))
                == "5: versions[0].currency: is not a currency:"
                + " write the three capital letters of ISO 4217, for example USD")
    }

    /// The fault of one field, without `versions[0].fine.fields`; the field starts in line 8.
    private func fieldFault(_ fields: String) throws -> String? {
        let head = "app: 7\nversions:\n" + version("one", "2026-01-01T00:00:00Z")
        let text = head.replacing("{fields: []}", with: "\n      fields:\n\(fields)")
        return try fault(text)?.replacing("versions[0].fine.fields", with: "")
    }

    @Test("a fault of a field is at the line of its key", arguments: FaultCase.all("model-fields"))
    func fieldFaults(_ wrong: FaultCase) throws {
        #expect(try fieldFault(wrong.text) == wrong.explanation)
    }

    @Test(
        "a fault of buckets is at the line of the bucket",
        arguments: [
            ("[]", "10", "9: [0].buckets: is empty: write the lower bound of at least one bucket"),
            ("[0,\n            -1]", "10", "10: [0].buckets[1]: is negative: write 0 or more"),
            (
                "[0,\n            5,\n            5.0000001]", "10",
                "11: [0].buckets[2]: is not above the previous bucket: write the bounds in ascending order"
            ),
            (
                "[0, 1, 2, 3, 4]", "10",
                "9: [0].buckets: has more buckets than the field has numbers (4):"
                    + " add bits or remove buckets"
            ),
            (
                "[0, 5]", "4.999999",
                "10: [0].max: is below the last bucket: write the end of the last bucket"
            ),
            (
                "[0, five]", "10",
                "9: [0].buckets[1]: must be an amount in plain digits, for example 4.99, but is 'five'"
            ),
            ("[0, 5]", "1e13", "10: [0].max: is too large: its millionths must fit into 64 bits"),
        ])
    func bucketFaults(buckets: String, max: String, words: String) throws {
        let field = """
                    - kind: revenue
                      buckets: \(buckets)
                      max: \(max)
                      bits: [0, 1]
            """
        #expect(try fieldFault(field) == words)
    }

    @Test(
        "a fault of an event is at the line of its key",
        arguments: [
            ("", "event: is missing: add it", 10),
            (
                "event: ''",
                "event: is not a name: write 1 to 255 bytes without control characters", 10
            ),
            ("event: a\n              count_min: -1", "count_min: is -1: write 0 or more", 11),
            (
                "event: a\n              count_min: 2\n              count_max: 1",
                "count_max: is below its minimum: raise it, or lower the minimum", 12
            ),
            (
                "event: a\n              count_min: 1.0",
                "count_min: must be a whole number in plain digits, but is '1.0'", 11
            ),
            (
                "event: a\n              revenue_max: 1\n              revenue_min: 2",
                "revenue_max: is below its minimum: raise it, or lower the minimum", 11
            ),
            (
                "event: a\n              revenue_min: -2",
                "revenue_min: is negative: write 0 or more", 11
            ),
            (
                "event: a\n              times: 2",
                "times: unknown key; known here: event, count_min, count_max, revenue_min,"
                    + " revenue_max", 11
            ),
        ])
    func eventFaults(event: String, words: String, line: Int) throws {
        let head = "app: 7\nversions:\n" + version("one", "2026-01-01T00:00:00Z")
        let coarse = """
                coarse:
                  "1":
                    medium:
                        - \(event.isEmpty ? "{}" : event)
            """
        #expect(try fault(head + coarse) == "\(line): versions[0].coarse.1.medium[0].\(words)")
    }

    @Test("windows are 0, 1 and 2, and coarse values low, medium and high")
    func coarse() throws {
        let head = "app: 7\nversions:\n" + version("one", "2026-01-01T00:00:00Z")
        #expect(
            try fault(head + "    coarse:\n      \"3\": {}\n")
                == "8: versions[0].coarse.3: the key must be 0 to 2")
        #expect(
            try fault(head + "    coarse:\n      \"1\":\n        none: []\n")
                == "9: versions[0].coarse.1.none: unknown key; known here: low, medium, high")
        let large = "{event: a, count_max: 9223372036854775807}"
        #expect(
            try fault(head + "    coarse:\n      \"1\":\n        high: [\(large), {event: a}]\n")
                == "9: versions[0].coarse.1.high: add up to more than 64 bits for the event 'a':"
                + " lower its counts or revenue")
    }

    @Test(
        "locks are whole hours within their window",
        arguments: [
            ("\"0\": 48", "lock_hours.0: is 48: write 1 to 47"),
            ("\"0\": 0", "lock_hours.0: is 0: write 1 to 47"),
            ("\"1\": 168", "lock_hours.1: is 168: write 1 to 167"),
            ("\"2\": 840", "lock_hours.2: is 840: write 1 to 839"),
            ("\"2\": -1", "lock_hours.2: is -1: write 1 to 839"),
            ("\"3\": 1", "lock_hours.3: the key must be 0 to 2"),
            ("\"0\": 1.5", "lock_hours.0: must be a whole number"),
        ])
    func locks(_ lock: String, _ words: String) throws {
        let head = "app: 7\nversions:\n" + version("one", "2026-01-01T00:00:00Z")
        let found = try #require(try fault(head + "    lock_hours:\n      \(lock)\n"))
        #expect(found.hasPrefix("8: versions[0].\(words)"), "\(found)")
        #expect(try fault(head + "    lock_hours: {\"0\": 47, \"1\": 167, \"2\": 839}\n") == nil)
    }
}
