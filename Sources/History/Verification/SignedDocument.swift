import JSON
import Reports
import Signatures
import Streams

/// The kind of a document, and the findings about its signatures.
package struct SignedDocument {
    /// The finding about one signature.
    package enum Finding {
        /// The signature was judged.
        case judged(Judgement)
        /// A worker would reject the document.
        case rejected(Rejection)
    }

    /// A verdict with the fields that it covers.
    package struct Judgement {
        var verdict: Verdict
        /// The name of one of several signatures; nil for a single one.
        var part: String?
        /// The evidence against it; without a signature, also the evidence for it.
        var reason: String?
        /// An explanation of the verdict, if needed.
        var note: String?
        /// The verified form of a relayed copy; nil for other documents.
        var form: RelayForm?
        /// The certificates of a JWS, the leaf first; the last is pinned.
        var certificates: [AppStoreCertificate] = []
        var signed: [SignedField]
        var unsigned: [SignedField]
    }

    /// `SKAdNetwork postback`, ...
    var title: String
    /// One, or one for each signature of an ad or a notification.
    var findings: [Finding]
}

extension SignedDocument {
    /// A document that a worker would reject.
    init(title: String, rejected rejection: Rejection) {
        self.init(title: title, findings: [.rejected(rejection)])
    }
}

extension SignedDocument {
    /// The result for the exit code, the worst last.
    package enum Result: Comparable {
        /// Every signature is valid.
        case genuine
        /// A signature is invalid, or no known key can judge it.
        case notGenuine
        /// A worker would reject the document.
        case unjudged
    }

    /// - Parameter trustsDevelopment: whether the configuration trusts postbacks of development devices.
    package func result(trustsDevelopment: Bool) -> Result {
        let results = findings.map { finding -> Result in
            switch finding {
            case .rejected: .unjudged
            case .judged(let judgement):
                switch judgement.verdict {
                case .valid: .genuine
                case .development: trustsDevelopment ? .genuine : .notGenuine
                case .invalid, .unverifiable: .notGenuine
                }
            }
        }
        // A document without a signature does not prove anything.
        return results.max() ?? .unjudged
    }
}

package enum SignedDocumentKind: String {
    case skAdNetworkPostback = "skan-postback"
    case adAttributionKitPostback = "aak-postback"
    case adSignature = "ad-signature"
    case notificationV1 = "appstore-notification-v1"
    case notificationV2 = "appstore-notification-v2"

    /// The apparent kind of a document.
    init(of document: JSONValue) {
        if document.firstMember("jws-string") != nil {
            self = .adAttributionKitPostback
        } else if document.firstMember("signedPayload") != nil {
            self = .notificationV2
        } else if document.firstMember("notification_type") != nil {
            self = .notificationV1
        } else if AdSignatureForm(of: document) != nil {
            self = .adSignature
        } else {
            self = .skAdNetworkPostback
        }
    }

    var title: String {
        switch self {
        case .skAdNetworkPostback: "SKAdNetwork postback"
        case .adAttributionKitPostback: "AdAttributionKit postback"
        case .adSignature: "ad signature"
        case .notificationV1: "App Store Server Notification V1"
        case .notificationV2: "App Store Server Notification V2"
        }
    }
}

extension SignedDocument {
    package var table: String {
        findings.reduce("\(title.withoutControls)\n") { $0 + Self.table($1) }
    }

    /// A single finding is written into the object itself; several are listed in it.
    package func write(to json: inout JSONText) {
        json.object { json in
            json.member("document", title)
            if findings.count == 1, let finding = findings.first {
                Self.writeMembers(of: finding, to: &json)
            } else {
                json.objects("signatures", findings, Self.writeMembers)
            }
        }
    }

    private static func table(_ finding: Finding) -> String {
        switch finding {
        case .rejected(let rejection):
            return "rejected: \(rejection.reason.name) (\(rejection.detail.withoutControls))\n"
        case .judged(let judgement):
            var text = judgement.part.map { "\($0):\n" } ?? ""
            text += "verdict: \(judgement.verdict.name)\n"
            if let reason = judgement.reason { text += "reason: \(reason)\n" }
            if let note = judgement.note { text += "note: \(note.withoutControls)\n" }
            if let form = judgement.form { text += "form: \(form.explanation)\n" }
            text += judgement.certificates.reduce("") { text, certificate in
                text + "certificate: \(certificate.subject.withoutControls), valid from "
                    + "\(certificate.notBefore) to \(certificate.notAfter)\n"
            }
            text += table("signed", judgement.signed)
            return text + table("not signed", judgement.unsigned)
        }
    }

    private static func table(_ title: String, _ fields: [SignedField]) -> String {
        guard !fields.isEmpty else { return "\(title): nothing\n" }
        let width = fields.map { $0.name.unicodeScalars.count }.max() ?? 0
        return fields.reduce("\(title):\n") { text, field in
            let name = field.name.escaped
            let gap = String(repeating: " ", count: max(0, width - name.unicodeScalars.count))
            let value = field.value?.escaped ?? "(missing)"
            return text + "  \(name)\(gap)  \(value)\n"
        }
    }

    private static func writeMembers(of finding: Finding, to json: inout JSONText) {
        switch finding {
        case .rejected(let rejection):
            json.member("rejected", rejection.reason.name)
            json.member("detail", rejection.detail)
        case .judged(let judgement):
            if let part = judgement.part { json.member("part", part) }
            json.member("verdict", judgement.verdict.name)
            if let reason = judgement.reason { json.member("reason", reason) }
            if let note = judgement.note { json.member("note", note) }
            if let form = judgement.form { json.member("form", form.explanation) }
            if !judgement.certificates.isEmpty {
                json.objects("certificates", judgement.certificates) { certificate, json in
                    json.member("subject", certificate.subject)
                    json.member("not_before", certificate.notBefore)
                    json.member("not_after", certificate.notAfter)
                }
            }
            write("signed", judgement.signed, to: &json)
            write("not_signed", judgement.unsigned, to: &json)
        }
    }

    private static func write(_ name: String, _ fields: [SignedField], to json: inout JSONText) {
        json.object(name) { json in
            for field in fields { json.member(field.name, field.value) }
        }
    }
}

extension AppStoreCertificate {
    fileprivate var notBefore: String { UTC.text(milliseconds: notBeforeSeconds * 1000) }
    fileprivate var notAfter: String { UTC.text(milliseconds: notAfterSeconds * 1000) }
}

extension RelayForm {
    /// The form in words.
    var explanation: String {
        switch self {
        case .asGiven: "as given"
        case .withoutSourceApp: "without source-app-id"
        case .withoutFidelity: "without fidelity-type"
        case .withoutBoth: "without source-app-id and fidelity-type"
        }
    }
}

extension SignedField {
    /// Every value of a document except objects and arrays, by its path: `data.bundleId`, `items[0].id`. Empty objects
    /// and arrays are listed too.
    ///
    /// The parser bounds the depth.
    static func leaves(of value: JSONValue, path: String = "") -> [SignedField] {
        var fields: [SignedField] = []
        switch value.kind {
        case .object:
            value.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                fields += leaves(of: member, path: path.isEmpty ? name : "\(path).\(name)")
            }
        case .array:
            for (index, element) in value.elements.enumerated() {
                fields += leaves(of: element, path: "\(path)[\(index)]")
            }
        case .string, .number, .boolean, .null: break
        }
        guard fields.isEmpty else { return fields }
        var json = JSONText()
        json.value(value)
        let text = value.string.map { String(decoding: $0, as: UTF8.self) }
        return [SignedField(name: path, value: text ?? json.text)]
    }
}
