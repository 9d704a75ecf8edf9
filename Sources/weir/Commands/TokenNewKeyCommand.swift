import ArgumentParser
import Crypto
import Foundation

/// `weir token new-key`
struct TokenNewKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-key",
        abstract: "Makes a key to sign tokens with, for a file that token_keys names.")

    func run() throws {
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
