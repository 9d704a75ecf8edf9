import Attestation
import Inspection
import Streams

extension SignedDocument {
    /// The findings for people, lines with their ends.
    var table: String {
        findings.reduce("\(title.withoutControls)\n") { $0 + Self.table($1) }
    }

    /// The findings as one JSON object, without a line end.
    var json: String {
        var json = JSONText()
        json.object { json in
            json.name("document")
            json.string(title)
            if findings.count == 1, let finding = findings.first {
                Self.write(finding, to: &json)
            } else {
                json.name("signatures")
                json.array { json in
                    for finding in findings { json.object { Self.write(finding, to: &$0) } }
                }
            }
        }
        return json.text.withoutControlsInJSON
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
            if let form = judgement.form { text += "form: \(form.words)\n" }
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

    private static func write(_ finding: Finding, to json: inout JSONText) {
        switch finding {
        case .rejected(let rejection):
            json.name("rejected")
            json.string(rejection.reason.name)
            json.name("detail")
            json.string(rejection.detail)
        case .judged(let judgement):
            if let part = judgement.part {
                json.name("part")
                json.string(part)
            }
            json.name("verdict")
            json.string(judgement.verdict.name)
            if let reason = judgement.reason {
                json.name("reason")
                json.string(reason)
            }
            if let note = judgement.note {
                json.name("note")
                json.string(note)
            }
            if let form = judgement.form {
                json.name("form")
                json.string(form.words)
            }
            write(judgement.certificates, to: &json)
            write("signed", judgement.signed, to: &json)
            write("not_signed", judgement.unsigned, to: &json)
        }
    }

    private static func write(_ certificates: [AppStoreCertificate], to json: inout JSONText) {
        guard !certificates.isEmpty else { return }
        json.name("certificates")
        json.array { json in
            for certificate in certificates {
                json.object { json in
                    json.name("subject")
                    json.string(certificate.subject)
                    json.name("not_before")
                    json.string(certificate.notBefore)
                    json.name("not_after")
                    json.string(certificate.notAfter)
                }
            }
        }
    }

    private static func write(_ name: String, _ fields: [SignedField], to json: inout JSONText) {
        json.name(name)
        json.object { json in
            for field in fields {
                json.name(field.name)
                json.string(field.value)
            }
        }
    }
}

extension AppStoreCertificate {
    fileprivate var notBefore: String { UTC.text(milliseconds: notBeforeSeconds * 1000) }
    fileprivate var notAfter: String { UTC.text(milliseconds: notAfterSeconds * 1000) }
}

extension RelayForm {
    /// The form in words.
    var words: String {
        switch self {
        case .asGiven: "as given"
        case .withoutSourceApp: "without source-app-id"
        case .withoutFidelity: "without fidelity-type"
        case .withoutBoth: "without source-app-id and fidelity-type"
        }
    }
}
