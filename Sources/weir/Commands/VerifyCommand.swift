import ArgumentParser
import ConfigurationValues
import Engine
import History
import Program
import Reports
import Signatures
import Streams

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: """
            Verifies who signed a postback, an ad or a store notification, and shows the signed fields.
            """,
        discussion: """
            Reads JSON documents: postbacks of SKAdNetwork and AdAttributionKit as devices send them; ads as \
            SKAdImpression, as an answer to Safari, or as the skadn object of an OpenRTB bid; and lines of the \
            form {"kind", "postback", "public_key"?}. Postbacks are judged like in weir-postbacks, with Apple's \
            keys and those of the configuration. From lines of weir publish and weir read, the command verifies \
            the value.

            It reads App Store notifications as their bodies, or, for version 2, as the bare JWS. It verifies \
            each JWS in them separately. Passwords and receipts are masked.

            Exit codes, for scripts: 0 if every signature is valid. 1 if a signature is invalid, unverifiable \
            (without a known key or layout), or development without trust_development in postbacks.yaml. 2 if \
            the command cannot judge: the input is missing, empty or not JSON, a worker would reject the \
            document, or the configuration has an error. For several documents, the highest code counts.
            """)

    enum Via: String, ExpressibleByArgument, CaseIterable {
        case device
        case developerCopy = "developer-copy"
        case relay
    }

    @Argument(help: "A file of JSON (default, or -: standard input).")
    var file: String?
    @Option(
        help: ArgumentHelp(
            "A public key of the network, for ads; repeatable.",
            valueName: "spki-base64"))
    var key: [String] = []
    @Option(help: "The way of the postbacks: device, developer-copy or relay.")
    var via = Via.device
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "table or json, one object a line (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        do {
            try verify(format)
        } catch {
            switch CommandError(error) {
            case .failure(let explanation): throw CommandError.unreadable(explanation)
            default: throw error
            }
        }
    }

    private func verify(_ format: ReportFormat) throws {
        let verifier = try verifier()
        let trustsDevelopment = try pipelines.configuration(data: []).trustsDevelopment()
        let bytes = try InputFile.contents(of: file)
        let output = BufferedOutput()
        var count = 0
        var result = SignedDocument.Result.genuine
        try bytes.withUnsafeBytes { bytes in
            for document in DocumentSequence(bytes) {
                let found = verifier.verify(document)
                result = max(result, found.result(trustsDevelopment: trustsDevelopment))
                try output.write((count > 0 && format == .table ? "\n" : "") + found.text(format))
                count += 1
            }
        }
        try output.flush()
        guard count > 0 else {
            throw CommandError.failure("\(file ?? "standard input") is empty: give JSON")
        }
        switch result {
        case .genuine: break
        case .notGenuine: throw CommandError.differs
        case .unjudged: throw CommandError.unreadable(nil)
        }
    }

    private func verifier() throws -> DocumentVerifier {
        let adKeys = try key.map { text in
            guard let key = VerificationKey(base64: text) else {
                throw CommandError.usage(
                    "--key is not a public key: give a SubjectPublicKeyInfo in base64")
            }
            return key
        }
        return try pipelines.configuration(data: []).verifier(
            adKeys: adKeys, isRelayed: via == .relay)
    }
}

extension SignedDocument: Report {}
