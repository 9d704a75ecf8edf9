import ConfigurationFiles
import ConfigurationValues
import Foundation
import Signatures
import Streams
import TestKit
import Testing

@testable import History
@testable import weir

@Suite("Verifying store notifications")
struct NotificationVerificationTests {
    private static let transaction =
        #"{"transactionId":"7","bundleId":"com.a","environment":"Sandbox","signedDate":1800000000000}"#
    private static let renewal =
        #"{"autoRenewStatus":1,"environment":"Sandbox","signedDate":1800000000000}"#

    private let chain: AppStoreChain

    init() throws { chain = try AppStoreChain() }

    /// The JWS of a notification with a transaction and a renewal.
    private func notification(
        transaction: String = Self.transaction, signedDate: String? = "1800000000000"
    ) throws -> String {
        let inner = (try chain.sign(transaction.utf8), try chain.sign(Self.renewal.utf8))
        let date = signedDate.map { #","signedDate":\#($0)"# } ?? ""
        let payload =
            #"{"notificationType":"DID_RENEW","notificationUUID":"u","data":{"bundleId":"com.a","#
            + #""environment":"Sandbox","signedTransactionInfo":"\#(inner.0)","#
            + #""signedRenewalInfo":"\#(inner.1)"}\#(date)}"#
        return try chain.sign(payload.utf8)
    }

    private func trust(
        apps: [NotificationTrust.App]? = [
            .init(bundleID: "com.a", appAppleID: 1, sharedSecrets: ["first", "s3cret"])
        ], environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) throws -> NotificationTrust {
        try NotificationTrust(
            roots: [.appleRootCAG3, AppStoreRoot(pem: chain.rootPEM)], apps: apps,
            environments: environments)
    }

    private func verify(
        _ text: String, _ trust: NotificationTrust? = nil
    ) throws -> SignedDocument {
        let verifier = try DocumentVerifier(
            trustedKeys: TrustedKeys(), notifications: trust ?? self.trust())
        return Array(text.utf8).withUnsafeBytes { verifier.verify($0) }
    }

    private func judgements(_ document: SignedDocument) -> [SignedDocument.Judgement] {
        document.findings.compactMap { finding in
            guard case .judged(let judgement) = finding else { return nil }
            return judgement
        }
    }

    @Test("a body and its bare JWS give a verdict for each JWS, with certificates and fields")
    func version2() throws {
        let jws = try notification()
        for text in [#"{"signedPayload":"\#(jws)","extra":1}"#, jws] {
            let document = try verify(text)
            #expect(document.title == "App Store Server Notification V2")
            let found = judgements(document)
            #expect(
                found.map(\.part) == ["notification", "signedTransactionInfo", "signedRenewalInfo"])
            #expect(found.map(\.verdict) == [.valid, .valid, .valid])
            #expect(found.allSatisfy { $0.note == nil && $0.reason == nil })
            #expect(found.allSatisfy { $0.certificates.count == 3 })
            #expect(
                found[0].signed.map(\.name) == [
                    "notificationType", "notificationUUID", "data.bundleId", "data.environment",
                    "data.signedTransactionInfo", "data.signedRenewalInfo", "signedDate",
                ])
            #expect(found[1].signed.first == SignedField(name: "transactionId", value: "7"))
            #expect(found[0].unsigned.map(\.name) == (text == jws ? [] : ["extra"]))
        }
        let table = try verify(jws).table
        #expect(
            table.contains("notification:\nverdict: valid\ncertificate: CN=Test Leaf A, valid "))
        #expect(table.contains(" from 2023-11-14T22:13:20Z to 2033-05-18T03:33:20Z\n"))
        let json = try JSONSerialization.jsonObject(with: Data(verify(jws).json.utf8))
        let signatures = (json as? [String: Any])?["signatures"] as? [[String: Any]]
        #expect(signatures?.map { $0["verdict"] as? String } == ["valid", "valid", "valid"])
        #expect((signatures?[0]["certificates"] as? [[String: Any]])?.count == 3)
    }

    @Test("what does not verify says why, and each JWS for itself")
    func invalid() throws {
        let genuine = try notification()
        let foreign = NotificationTrust(roots: [.appleRootCAG3], apps: nil, environments: [])
        let reasons = try judgements(verify(genuine, foreign)).map(\.reason)
        #expect(reasons == Array(repeating: "no pinned root issued the intermediate", count: 3))
        let undated = try judgements(verify(notification(signedDate: nil)))
        #expect(undated.map(\.verdict) == [.invalid, .valid, .valid])
        #expect(undated[0].reason == "its payload has no signedDate")
        let late = try judgements(verify(notification(signedDate: "2100000000000")))
        #expect(late[0].reason == "a certificate was no longer valid at signedDate")
        var altered = genuine.split(separator: ".").map(String.init)
        altered[1] = #"{"notificationType":"TEST","signedDate":1800000000000}"#.utf8.base64URL
        let broken = try judgements(verify(altered.joined(separator: ".")))
        #expect(broken.map(\.reason) == ["the signature does not match the received content"])
        #expect(try judgements(verify("a.b.c")).map(\.verdict) == [.invalid])
        #expect(try verify(#"{"signedPayload":1}"#).table.contains("rejected: wrong_type"))
        #expect(try verify(#"{"signedPayload":null}"#).table.contains("rejected: missing_field"))
        let text = try verify(#"{"signedPayload":"x"}"#)
        #expect(judgements(text).first?.reason == AppStoreFault.notAJWS.explanation.description)
    }

    @Test("a valid signature of an app or environment that does not count is told apart")
    func identity() throws {
        let jws = try notification()
        func note(_ trust: NotificationTrust) throws -> String {
            try judgements(verify(jws, trust)).first?.note ?? ""
        }
        #expect(try note(trust(apps: [])).contains("its bundle is not in"))
        #expect(
            try note(trust(environments: [.production])).contains("does not allow its environment"))
        #expect(try note(trust(apps: nil)).contains("are not checked"))
        let other = Self.transaction.replacingOccurrences(of: "com.a", with: "com.b")
        let found = try judgements(verify(notification(transaction: other)))
        #expect(found[1].verdict == .valid)
        #expect(found[1].note?.hasSuffix("is not of the notification's bundle") == true)
        let production =
            #"{"notificationType":"TEST","data":{"bundleId":"com.a","environment":"Production","#
            + #""appAppleId":2},"signedDate":1800000000000}"#
        let signed = try chain.sign(production.utf8)
        #expect(try judgements(verify(signed))[0].note?.contains("appAppleId") == true)
    }

    @Test("a payload is read as the worker reads it: its app id, its instant, its environment")
    func readAsTheWorkerDoes() throws {
        func found(
            _ date: String, app: String, _ trust: NotificationTrust? = nil,
            environment: String = "Production"
        ) throws -> SignedDocument.Judgement? {
            let payload =
                #"{"notificationType":"TEST","data":{"bundleId":"com.a","appAppleId":\#(app),"#
                + #""environment":"\#(environment)"},"\#(date)":1800000000000}"#
            return try judgements(verify(chain.sign(payload.utf8), trust)).first
        }
        #expect(try found("signedDate", app: "1")?.note == nil)
        #expect(try found("signedDate", app: #""1""#)?.note == nil)
        #expect(try found("signedDate", app: #""2""#)?.note?.contains("appAppleId") == true)
        let undated = try found("receiptCreationDate", app: "1")
        #expect(undated?.verdict == .invalid)
        #expect(undated?.reason == "its payload has no signedDate")
        let local = try trust(environments: [.xcode])
        let unsigned = try found("none", app: "1", local, environment: "Xcode")
        #expect(unsigned?.verdict == .invalid)
        #expect(unsigned?.note?.contains("counts it anyway") == true)
        #expect(try found("none", app: "1", environment: "Xcode")?.note == nil)
    }

    @Test("a JWS that is no notification is verified as what it is")
    func transactions() throws {
        let document = try verify(chain.sign(Self.transaction.utf8))
        #expect(document.title == "App Store JWS")
        #expect(judgements(document).map(\.verdict) == [.valid])
    }

    @Test("a body of version 1 is as good as its secret, which is shown to nobody")
    func version1() throws {
        func body(_ password: String, _ bid: String = #""bid":"com.a","#) -> String {
            #"{"notification_type":"CANCEL",\#(bid)\#(password)"unified_receipt":{"latest_receipt":"#
                + #""cmVjZWlwdA==","latest_receipt_info":[{"transaction_id":"9"}]}}"#
        }
        let good = try verify(body(#""password":"s3cret","#))
        #expect(good.title == "App Store Server Notification V1")
        #expect(judgements(good)[0].verdict == .valid)
        #expect(judgements(good)[0].signed.isEmpty)
        let fields = judgements(good)[0].unsigned
        #expect(fields.contains(SignedField(name: "password", value: "***")))
        #expect(fields.contains(SignedField(name: "unified_receipt.latest_receipt", value: "***")))
        #expect(
            fields.contains(
                SignedField(
                    name: "unified_receipt.latest_receipt_info[0].transaction_id", value: "9")))
        for text in [good.table, good.json] {
            #expect(!text.contains("s3cret") && !text.contains("cmVjZWlwdA"))
        }
        func verdict(_ text: String, _ trust: NotificationTrust? = nil) throws -> Verdict? {
            try judgements(verify(text, trust)).first?.verdict
        }
        #expect(try verdict(body(#""password":"first","#)) == .valid)
        #expect(try verdict(body(#""password":"S3cret","#)) == .invalid)
        #expect(try verdict(body(#""password":"","#)) == .invalid)
        #expect(try verdict(body("")) == .invalid)
        #expect(try verdict(body(#""password":"s3cret","#, #""bid":"com.b","#)) == .invalid)
        #expect(
            try verdict(body(#""password":"s3cret","#, #""latest_receipt_info":{"bid":"com.a"},"#))
                == .valid)
        #expect(try verdict(body(#""password":"s3cret","#), trust(apps: nil)) == .unverifiable)
    }

    @Test("the configuration says which roots, apps and environments count")
    func configuration() throws {
        let place = try TemporaryDirectory()
        try place.write(chain.rootPEM, to: "pipelines/root.pem")
        try place.write(
            """
            topic: store-notifications
            roots: [root.pem]
            environments: [Sandbox]
            apps: [{bundle_id: com.a, app_apple_id: 1, shared_secrets: [s3cret]}]
            """, to: "pipelines/store-notifications.yaml")
        let directory = PipelineDirectory("\(place.path)/pipelines")
        let found = try judgements(verify(notification(), NotificationTrust(configured: directory)))
        #expect(found.map(\.verdict) == [.valid, .valid, .valid])
        #expect(found.allSatisfy { $0.note == nil })
        let empty = try NotificationTrust(configured: PipelineDirectory(place.path))
        #expect(try judgements(verify(notification(), empty)).map(\.verdict).first == .invalid)
    }

    @Test("JWSs on lines of their own are documents of their own")
    func lines() throws {
        let jws = try notification()
        let found = Array("\(jws)\n{\"signedPayload\":\"\(jws)\"}\n\(jws)\r\n".utf8)
            .withUnsafeBytes { DocumentSequence($0).map(\.count) }
        #expect(found == [jws.utf8.count, jws.utf8.count + 20, jws.utf8.count])
    }
}
