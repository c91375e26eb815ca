export const metadata = { title: "Blog" };

export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}
