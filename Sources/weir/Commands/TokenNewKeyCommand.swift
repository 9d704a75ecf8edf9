import ArgumentParser
import Crypto
import Foundation

/// `weir token new-key`
struct TokenNewKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-key",
        abstract: "Makes a key to sign tokens with, for a file that token_keys names.")

    @Option(
        help: ArgumentHelp(
            "Write it to a new file that only its owner reads, in a directory that is made; default: print it.",
            valueName: "file"))
    var out: String?

    func run() throws {
        if let out { return try SecretFile.make(SecretText.random() + "\n", at: out) }
        let output = BufferedOutput()
        try output.write(SecretText.random() + "\n")
        try output.flush()
    }
}

/// Random text that is hard to guess.
enum SecretText {
    static func random() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { bytes in
            Data(bytes).base64EncodedString().replacing("+", with: "-")
                .replacing("/", with: "_").replacing("=", with: "")
        }
    }
}
