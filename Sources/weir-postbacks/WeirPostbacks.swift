import Streams
import Worker

@main
enum WeirPostbacks {
    static func main() {
        StreamWorker<PostbacksFold>.start()
    }
}
