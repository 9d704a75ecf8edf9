import ConfigurationValues
import EventLog
import Foundation
import TestKit
import Testing

@testable import History

@Suite("Erasing the account of a customer")
struct ErasureOfAccountTests {
    private static let token = "7e3fb204-0c52-4f6d-9d2e-3a8e1a2f9b44"
    private static let other = "11111111-0c52-4f6d-9d2e-3a8e1a2f9b44"

    /// A notification whose signed transaction has the token, if any.
    private func notification(
        _ number: Int, line: String, token: String?, _ chain: AppStoreChain
    ) throws -> OutgoingRecord {
        let account = token.map { "\"appAccountToken\":\"\($0)\"," } ?? ""
        let info = try chain.sign(
            """
            {"transactionId":"\(number)","originalTransactionId":"\(line)",\(account)\
            "bundleId":"\(SampleNotifications.bundle)","productId":"monthly",\
            "environment":"Sandbox","signedDate":1795238412000}
            """.utf8)
        let payload = """
            {"notificationType":"DID_RENEW","notificationUUID":"u\(number)","signedDate":1795238412500,\
            "data":{"bundleId":"\(SampleNotifications.bundle)","environment":"Sandbox",\
            "signedTransactionInfo":"\(info)"}}
            """
        return SampleNotifications.record(
            "{\"signedPayload\":\"\(try chain.sign(payload.utf8))\"}", key: line, number: number)
    }

    @Test(
        "finds the token in signed parts, and other records of the same purchases without a token")
    func signed() throws {
        let workspace = try Workspace()
        let samples = try SampleNotifications()
        try samples.configure(workspace)
        try workspace.publish(
            "store-notifications",
            [
                notification(0, line: "70", token: nil, samples.chain),
                notification(1, line: "70", token: Self.token.uppercased(), samples.chain),
                notification(2, line: "71", token: nil, samples.chain),
                notification(3, line: "70", token: Self.other, samples.chain),
                SampleNotifications.record("{\"signedPayload\":5}", key: "70", number: 4),
            ])
        try workspace.foldNotifications()
        let digest = try workspace.stores().digest()
        let erasure = Erasure(
            of: try ErasureSubject(.account, Self.token), in: try workspace.openLog(),
            directories: [workspace.path + "/data"], PipelineDirectory(workspace.pipelines))
        let findings = try erasure.run()
        let found = findings.records.first { $0.topic == "store-notifications" }
        #expect(found?.records.map(\.offset) == [0, 1, 4])
        #expect(try erasure.find().isEmpty)
        #expect(try workspace.stores().digest() == digest)
        #expect(findings.refused.map { $0.places.map(\.offset) } == [[4]])
        let letters = try workspace.records("store-notifications.dlq")
        #expect(letters.map(\.key) == [nil] && letters.map(\.value) == [nil])
        #expect(
            try workspace.records("store-notifications").map(\.key) == [nil, nil, "71", "70", nil])
    }
}
