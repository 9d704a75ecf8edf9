import Signatures
import Streams
import TestKit
import Testing

@Suite("Which notifications are trusted")
struct StoreNotificationTrustTests {
    /// Why a record is not trusted; nil when it is.
    private func distrust(
        _ record: TestRecord, environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) throws -> String? {
        let result = try foldNotifications([record, record], environments: environments)
        guard let refused = result.refused.first else { return nil }
        // It touches no aggregate, and leaves no id behind: its repetition is untrusted as well.
        #expect(result.rows("store-notifications").isEmpty)
        #expect(refused.reason == "untrusted", "\(refused)")
        #expect(result.outcome(.untrusted) == 2)
        return refused.detail
    }

    private func altered(_ changes: KeyValuePairs<String, Document?>) throws -> String? {
        try distrust(v2("DID_RENEW", with: changes))
    }

    @Test("a JWS within bounds is trusted, and so is a body whose password is any of the secrets")
    func trusted() throws {
        #expect(try altered([:]) == nil)
        for secret: Document in ["before", .string(Notifications.secret)] {
            let record = v1("DID_RENEW", [Notifications.listed], with: ["password": secret])
            #expect(try distrust(record) == nil)
        }
    }

    @Test(
        "a foreign chain, a payload that is no JSON and one without signedDate have their own words"
    )
    func chains() throws {
        let payload = Notifications.payload("DID_RENEW")
        let foreign = try Notifications.body(payload, by: .stranger)
        #expect(
            try distrust(TestRecord(foreign))
                == "signedPayload: \(AppStoreFault.untrustedRoot.explanation)")
        let text = try Notifications.chain().sign("[]".utf8)
        #expect(
            try distrust(TestRecord(["signedPayload": .string(text)] as Document))
                == "signedPayload: its payload is not a JSON object")
        for date: Document? in [nil, "1795238412500", 1.5, .null] {
            #expect(
                try altered(["signedDate": date]) == "signedPayload: its payload has no signedDate")
        }
    }

    @Test("each JWS is judged at its own signedDate")
    func ownSignedDate() throws {
        // Before the leaf of the chain was valid.
        let words = AppStoreFault.notYetValidAtSigning.explanation
        let early: Document = 1_600_000_000_000
        #expect(try altered(["signedDate": early]) == "signedPayload: \(words)")
        #expect(
            try altered(["data.signedTransactionInfo.signedDate": early])
                == "signedTransactionInfo: \(words)")
        #expect(
            try altered(["data.signedRenewalInfo.signedDate": early])
                == "signedRenewalInfo: \(words)")
    }

    @Test("the JWSs within the payload are each verified separately")
    func innerJWS() throws {
        let foreign = try Notifications.jws(Notifications.transaction, by: .stranger)
        #expect(
            try altered(["data.signedTransactionInfo": foreign])
                == "signedTransactionInfo: \(AppStoreFault.untrustedRoot.explanation)")
        #expect(
            try altered(["data.signedRenewalInfo": foreign])
                == "signedRenewalInfo: \(AppStoreFault.untrustedRoot.explanation)")
        for text: Document in ["", "a.b.c", 5] {
            #expect(
                try altered(["data.signedRenewalInfo": text])?.hasPrefix("signedRenewalInfo: ")
                    == true)
        }
        #expect(
            try altered(["data.signedTransactionInfo.signedDate": nil])
                == "signedTransactionInfo: its payload has no signedDate")
        #expect(
            try altered(["data.signedTransactionInfo": nil, "data.signedRenewalInfo": .null]) == nil
        )
    }

    @Test("a JWS within the payload that is of another bundle or environment is untrusted")
    func innerIdentity() throws {
        #expect(
            try altered(["data.signedTransactionInfo.bundleId": .string(Notifications.otherBundle)])
                == "signedTransactionInfo: is not of the notification's bundle")
        #expect(
            try altered(["data.signedTransactionInfo.environment": "Sandbox"])
                == "signedTransactionInfo: is not of the notification's environment")
        #expect(
            try altered(["data.signedRenewalInfo.environment": "Sandbox"])
                == "signedRenewalInfo: is not of the notification's environment")
        for none: Document? in [nil, .null] {
            #expect(
                try altered(["data.signedTransactionInfo.bundleId": none])
                    == "signedTransactionInfo: has no bundleId")
            for member in ["signedTransactionInfo", "signedRenewalInfo"] {
                #expect(
                    try altered(["data.\(member).environment": none])
                        == "\(member): has no environment")
            }
        }
        // Renewals name no bundle; one that does names this one.
        let other = Document.string(Notifications.otherBundle)
        #expect(
            try altered(["data.signedRenewalInfo.bundleId": other])
                == "signedRenewalInfo: is not of the notification's bundle")
    }

    @Test("a bundle that is not configured is untrusted, and so is a payload that speaks of no app")
    func bundles() throws {
        #expect(
            try altered(["data.bundleId": "com.example.unknown"])
                == "bundleId: is not one of the configured bundles")
        #expect(try altered(["data": nil]) == "signedPayload: its payload does not name an app")
        #expect(try altered(["data": "com.example.puzzle"])?.hasPrefix("bundleId: ") == true)
    }

    @Test("the app id has to be right in Production, and is absent in the sandbox")
    func appIDs() throws {
        let words = "appAppleId: is not the app id that is configured for the bundle"
        #expect(try altered(["data.appAppleId": 1]) == words)
        #expect(try altered(["data.appAppleId": nil]) == words)
        #expect(try altered(["data.appAppleId": "525463029"]) == nil)
        let sandbox = try v2(
            "DID_RENEW",
            with: [
                "data.appAppleId": nil, "data.environment": "Sandbox",
                "data.signedTransactionInfo.environment": "Sandbox",
                "data.signedRenewalInfo.environment": "Sandbox",
            ])
        #expect(try distrust(sandbox) == nil)
        // No app id is configured for the other bundle.
        let other = Document.string(Notifications.otherBundle)
        #expect(
            try altered([
                "data.bundleId": other, "data.appAppleId": 7,
                "data.signedTransactionInfo.bundleId": other,
            ]) == nil)
    }

    @Test(
        "Xcode and LocalTesting are untrusted unless they are allowed, and then not verified",
        arguments: ["Xcode", "LocalTesting", "Nowhere"])
    func testEnvironments(_ name: String) throws {
        let changes: KeyValuePairs<String, Document?> = [
            "data.environment": .string(name),
            "data.signedTransactionInfo.environment": .string(name),
            "data.signedRenewalInfo.environment": .string(name),
        ]
        let record = try v2("DID_RENEW", with: changes)
        #expect(try distrust(record) == "environment: is not allowed by the pipeline")
        let all = Set(AppStoreEnvironment.allCases)
        #expect(try (distrust(record, environments: all) == nil) == (name != "Nowhere"))
        let signed = TestRecord(
            try Notifications.body(
                Notifications.payload("DID_RENEW", with: changes), by: .stranger))
        #expect(try (distrust(signed, environments: all) == nil) == (name != "Nowhere"))
        #expect(try distrust(signed) == "signedPayload: \(AppStoreFault.untrustedRoot.explanation)")
    }

    @Test("what Xcode signs needs no certificate, but a bundle, and the environment all through")
    func localSignatures() throws {
        func jws(_ payload: Document, header: String = #"{"alg":"none"}"#) -> Document {
            .string(header.utf8.base64URL + "." + payload.text.utf8.base64URL + ".")
        }
        func record(
            _ changes: KeyValuePairs<String, Document?> = [:], transaction: String = "Xcode",
            header: String = #"{"alg":"none"}"#
        ) -> TestRecord {
            let inner = Notifications.transaction.with([
                "environment": .string(transaction), "signedDate": nil,
            ])
            let payload = Notifications.payload("DID_RENEW").with([
                "data.environment": "Xcode", "data.appAppleId": nil, "signedDate": nil,
                "data.signedTransactionInfo": jws(inner), "data.signedRenewalInfo": nil,
            ]).with(changes)
            return TestRecord(["signedPayload": jws(payload, header: header)] as Document)
        }
        let allowed: Set<AppStoreEnvironment> = [.production, .xcode]
        let result = try foldNotifications([record()], environments: allowed)
        #expect(result.count("renewals", where: ["environment": "Xcode"]) == 1)
        #expect(try distrust(record(), environments: [.production, .sandbox]) != nil)
        let forged = [
            record(["data.bundleId": "com.example.unknown"]),
            record(["data.environment": "LocalTesting"]),
            record(["data.environment": "Production"]),
            record(transaction: "Production"), record(["data.signedTransactionInfo": "x"]),
            record(header: "[]"),
        ]
        for record in forged {
            #expect(try distrust(record, environments: allowed) != nil)
        }
    }

    @Test("an environment that the pipeline does not list is untrusted in both versions")
    func unlistedEnvironment() throws {
        let words = "environment: is not allowed by the pipeline"
        let records = [
            try v2("DID_RENEW"), v1("DID_RENEW"),
            Notifications.receipt("10", [Notifications.listed]),
        ]
        for record in records {
            #expect(try distrust(record, environments: [.sandbox]) == words)
            #expect(try distrust(record, environments: [.production]) == nil)
        }
    }

    @Test("a password has to be a secret of that very bundle, whole")
    func passwords() throws {
        let wrong = "password: is not a shared secret of the bundle"
        func words(_ password: Document?, bundle: String = Notifications.bundle) throws -> String? {
            try distrust(
                v1(
                    "DID_RENEW", [Notifications.listed],
                    with: ["password": password, "bid": .string(bundle)]))
        }
        #expect(try words("other secret") == wrong)
        #expect(try words("") == wrong)
        #expect(try words("befor") == wrong)
        #expect(try words("before\u{0}") == wrong)
        #expect(try words(.string(Notifications.secret.uppercased())) == wrong)
        #expect(try words("before", bundle: Notifications.otherBundle) == wrong)
        #expect(try words("other secret", bundle: Notifications.otherBundle) == nil)
        #expect(try words("", bundle: "com.example.secretless") == wrong)
        #expect(try words(nil) == "password: is missing")
        #expect(try words(5) == "password: is missing")
        #expect(try words("before", bundle: "x") == "bid: is not one of the configured bundles")
    }

    @Test("a receipt is trusted when its bundle is known")
    func receipts() throws {
        let listed = [Notifications.listed]
        #expect(try distrust(Notifications.receipt("10", listed)) == nil)
        let words = "receipt.bundle_id: is not one of the configured bundles"
        #expect(
            try distrust(Notifications.receipt("10", listed, with: ["receipt.bundle_id": "x"]))
                == words)
        #expect(try distrust(Notifications.receipt("10", listed, with: ["receipt": nil])) == words)
    }

    @Test("trust comes before any look at content or duplicates")
    func trustComesFirst() throws {
        // Faults that would reject a trusted record.
        let faulty = try Notifications.body(
            Notifications.payload("", with: ["notificationUUID": 5]), by: .stranger)
        #expect(try distrust(TestRecord(faulty)) != nil)
        let bodyV1 = v1("", [], with: ["password": "x", "notification_type": nil])
        #expect(try distrust(bodyV1) != nil)
        // A forged copy neither blocks the real one nor counts as its duplicate.
        let payload = Notifications.payload("DID_RENEW")
        let forged = TestRecord(try Notifications.body(payload, by: .stranger))
        let real = TestRecord(try Notifications.body(payload))
        let result = try foldNotifications([forged, real, forged, real])
        #expect(result.outcome(.untrusted) == 2)
        #expect(result.outcome(.accepted) == 1)
        #expect(result.outcome(.duplicates) == 1)
        #expect(result.count("renewals") == 1)
    }

    @Test("a body without signedPayload is rejected, and one that is no object or no JSON as well")
    func rejected() throws {
        let bodies = ["{}", #"{"signedPayload":null}"#, #"{"signedPayload":5}"#, "[]", "{"]
        let result = try foldNotifications(bodies.map { TestRecord($0) })
        #expect(
            result.reasons == [
                "missing_field", "missing_field", "wrong_type", "wrong_type", "malformed_json",
            ])
        #expect(result.outcome(.rejected) == 5)
        // An empty text is there, and is no JWS.
        #expect(
            try distrust(TestRecord(#"{"signedPayload":""}"#))
                == "signedPayload: \(AppStoreFault.notAJWS.explanation)")
    }

    @Test("no detail of a refused record shows its password")
    func detailsAreDiscreet() throws {
        let result = try foldNotifications([
            v1("DID_RENEW", [], with: ["password": "hunter2"]),
            v1("DID_RENEW", [], with: ["environment": "hunter2"]),
        ])
        #expect(result.refused.count == 2)
        #expect(result.refused.allSatisfy { !$0.detail.contains("hunter2") })
    }
}
