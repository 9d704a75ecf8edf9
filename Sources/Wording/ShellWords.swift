/// Quotes the words of a command for a shell.
package enum ShellWords {
    package static func text(_ words: [String]) -> String {
        words.map(quoted).joined(separator: " ")
    }

    package static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                || "-_./:,=@%+".utf8.contains(byte)
        }
        return isPlain && !word.isEmpty
            ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}
